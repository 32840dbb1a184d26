// Asks again and again as long as the tab is seen, until a 403, which no waiting changes.

export class Poll {
	/** `ask(signal)` finds something, `take` gets it where it is not as before, and
	 * `failed` what `ask` raised. */
	constructor(ask, take, failed, every = 2000) {
		Object.assign(this, { _ask: ask, _take: take, _failed: failed, _every: every, isPaused: false });
		this._seen = () => { if (!document.hidden) this.look(); };
		document.addEventListener("visibilitychange", this._seen);
	}

	close() {
		this._isClosed = true;
		this._stop();
		document.removeEventListener("visibilitychange", this._seen);
	}

	pause(isPaused) {
		this.isPaused = isPaused;
		if (isPaused) clearTimeout(this._timer);
		else this.look();
	}

	_stop() {
		clearTimeout(this._timer);
		this._asking?.abort();
	}

	/** `isOther`: something else is asked for than what may be under way. */
	async look(isOther = false) {
		if (this._isClosed || (this._asking && !isOther)) return;
		this._stop();
		const { signal } = (this._asking = new AbortController());
		let isDenied = false;
		try {
			const found = await this._ask(signal);
			signal.throwIfAborted();
			const text = JSON.stringify(found);
			if (isOther || text !== this._known) this._take(found);
			this._known = text;
		} catch (error) {
			if (signal.aborted) return;
			this._known = null;
			isDenied = error.status === 403;
			this._failed(error);
		}
		this._asking = null;
		if (!isDenied && !this._isClosed && !this.isPaused && !document.hidden) this._timer = setTimeout(() => this.look(), this._every);
	}
}
