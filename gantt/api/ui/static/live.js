// Ticks when anything changes: by events, or every few seconds.

import { answered, headers } from "./api.js";
import { token } from "./session.js";

const POLL_MS = 2000;
const RETRY_MS = 30000;
const AGAIN_MS = 500;
// A stream says something every five seconds.
const SILENCE_MS = 20000;

function pause(milliseconds, signal) {
	return new Promise((resolve) => {
		setTimeout(resolve, milliseconds);
		signal.addEventListener("abort", resolve, { once: true });
	});
}

class Live extends EventTarget {
	constructor() {
		super();
		this.state = "off"; // live, polling, lost
		this.received = 0;
	}

	start() {
		this.stop();
		this._stop = new AbortController();
		this._run(this._stop.signal);
	}

	stop() {
		this._stop?.abort();
		this._stop = null;
		this._place = null;
		this._be("off");
	}

	_be(state) {
		if (state === this.state) return;
		this.state = state;
		this.dispatchEvent(new Event("state"));
	}

	_tick() {
		this.dispatchEvent(new Event("tick"));
	}

	async _run(signal) {
		while (!signal.aborted && token()) {
			try {
				await this._stream(signal);
				await pause(AGAIN_MS, signal); // it has ended as it should: the server may stop
			} catch (error) {
				if (signal.aborted || error.status === 401) return;
				if (error.status === 410) this._place = null;
				await this._poll(signal, error.status === 503 || error.status === 403);
			}
		}
	}

	/** Until the stream ends; raises where there is none. */
	async _stream(signal) {
		const silence = new AbortController();
		const both = AbortSignal.any([signal, silence.signal]);
		let timer;
		const heard = () => { clearTimeout(timer); timer = setTimeout(() => silence.abort(), SILENCE_MS); };
		heard();
		try {
			const more = { Accept: "text/event-stream" };
			if (this._place) more["Last-Event-ID"] = this._place;
			const answer = await answered("gantt/watch", { headers: headers(more), signal: both });
			this._be("live");
			this._tick(); // whatever happened before
			const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
			let rest = "";
			for (;;) {
				const { done, value } = await reader.read();
				if (done) return;
				heard();
				const blocks = (rest + value).split("\n\n");
				rest = blocks.pop();
				this._take(blocks);
			}
		} finally {
			clearTimeout(timer);
		}
	}

	_take(blocks) {
		const before = this.received;
		for (const line of blocks.join("\n").split("\n")) {
			if (line.startsWith("id: ")) this._place = line.slice(4);
			else if (line.startsWith("event: gone")) this._place = null;
			else if (line.startsWith("data: ")) this.received += 1;
		}
		if (this.received > before) this._tick();
	}

	/** For a while; `isThere`: the service answers, and has no stream for us. */
	async _poll(signal, isThere) {
		this._be(isThere ? "polling" : "lost");
		const until = performance.now() + (isThere ? RETRY_MS : POLL_MS);
		while (!signal.aborted && performance.now() < until) {
			await pause(POLL_MS, signal);
			if (isThere && !signal.aborted) this._tick();
		}
	}
}

export const live = new Live();
