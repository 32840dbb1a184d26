// What changes: the event stream of the service, or, where that is not to be had,
// a tick every few seconds. Events are decoded only while a page wants them.

import { BASE, headers, refusal } from "./api.js";
import { token } from "./session.js";

const POLL_MS = 2000;
const RETRY_MS = 30000;
const AGAIN_MS = 500;
// A stream says something every five seconds.
const SILENCE_MS = 20000;

/** So long, or until `signal`. */
function pause(milliseconds, signal) {
	return new Promise((resolve) => {
		const timer = setTimeout(resolve, milliseconds);
		signal.addEventListener("abort", () => {
			clearTimeout(timer);
			resolve();
		}, { once: true });
	});
}

class Live extends EventTarget {
	constructor() {
		super();
		this.state = "off"; // live, polling, lost
		this.wanted = 0;
		this.received = 0;
		this._stop = null;
		this._place = null;
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

	/** Events are decoded from now on; returns what ends that. */
	want(listen) {
		const take = (event) => listen(event.detail);
		this.wanted += 1;
		this.addEventListener("events", take);
		return () => {
			this.wanted -= 1;
			this.removeEventListener("events", take);
		};
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
				if (signal.aborted) return;
				if (error.status === 401) return;
				if (error.status === 410) this._place = null;
				await this._poll(signal, error.status === 503 || error.status === 403);
			}
		}
	}

	/** Until the stream ends; raises where there is none. */
	async _stream(signal) {
		const silence = new AbortController();
		const both = AbortSignal.any([signal, silence.signal]);
		let timer = setTimeout(() => silence.abort(), SILENCE_MS);
		try {
			const more = { Accept: "text/event-stream" };
			if (this._place) more["Last-Event-ID"] = this._place;
			const answer = await fetch(`${BASE}/gantt/watch`, {
				headers: headers(more),
				signal: both,
				credentials: "omit",
				cache: "no-store",
			});
			if (!answer.ok) throw await refusal(answer);
			this._be("live");
			this._tick(); // whatever happened before
			const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
			let rest = "";
			for (;;) {
				const { done, value } = await reader.read();
				if (done) return;
				clearTimeout(timer);
				timer = setTimeout(() => silence.abort(), SILENCE_MS);
				const blocks = (rest + value).split("\n\n");
				rest = blocks.pop();
				this._take(blocks);
			}
		} finally {
			clearTimeout(timer);
		}
	}

	_take(blocks) {
		const events = [];
		let count = 0;
		for (const block of blocks) {
			let data = "";
			for (const line of block.split("\n")) {
				if (line.startsWith("id: ")) this._place = line.slice(4);
				else if (line.startsWith("event: gone")) this._place = null;
				else if (line.startsWith("data: ")) data = line.slice(6);
			}
			if (!data) continue;
			count += 1;
			if (this.wanted) events.push(JSON.parse(data));
		}
		if (!count) return;
		this.received += count;
		if (events.length) this.dispatchEvent(new CustomEvent("events", { detail: events }));
		this._tick();
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
