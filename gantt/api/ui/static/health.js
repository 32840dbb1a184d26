// The page Health: the service, silent hosts, the audit.

import { get, probe } from "./api.js";
import { button, el, fill, loading, svg, wrong } from "./elements.js";
import { growth, quantile, read, total } from "./metrics.js";
import { Poll } from "./poll.js";
import { ago, column, hostOf, listed, told } from "./table.js";
import { amount, short } from "./text.js";
import { changeTables, outTable, silences } from "./wrong.js";

const LONG_S = 10; // less: a question runs
const KEPT = 60; // looks that a line shows
const MOST_FINDINGS = 200;
const OUT = "Hosts that take no requests";
const fail = (place, title, error) => fill(place, el("h3", title), wrong(error));
const seconds = (bound) => (bound === null ? "–" : bound === Infinity ? "> 30 s" : bound < 1 ? `≤ ${amount(bound * 1000)} ms` : `≤ ${amount(bound)} s`);

function line(values) {
	const most = Math.max(...values, 1e-9);
	const points = values.map((one, at) => `${(at * 100) / (KEPT - 1)},${20 - (18 * one) / most}`).join(" ");
	return svg("svg", { viewBox: "0 0 100 20", preserveAspectRatio: "none", class: "spark", "aria-hidden": "true" }, svg("polyline", { points }));
}

function tile(label, value, detail, { isWrong = false, values = null } = {}) {
	return el(isWrong ? "div.tile.bad" : "div.tile",
		el("b", value), el("span.name", label),
		el("small", { title: detail }, detail), values?.length > 1 && line(values));
}

export class HealthView {
	constructor(root) {
		this.history = { requests: [], commits: [], queue: [] };
		this.sums = el("div.sums");
		this.note = loading();
		[this.silent, this.changed, this.audit] = [1, 2, 3].map(() => el("div.part"));
		root.append(el("section.health", this.note, this.sums, this.silent, this.changed, this.audit));
		this.poll = new Poll((signal) => this._look(signal), ([ready, exposed, recent]) => this._draw(ready, read(exposed), recent), (error) => {
			this.note.hidden = false;
			fill(this.note, error.message);
		});
		this.poll.look();
		this._examine();
	}

	update() {}

	close() {
		this.poll.close();
	}

	_look(signal) {
		const recent = this._isDenied ? null : get("gantt/recent", {}, signal).catch((error) => {
			this._isDenied = error.status === 403; // for good
			return { error: error.message };
		});
		return Promise.all([probe("readyz", signal), probe("metrics", signal), recent]);
	}

	_draw(ready, metrics, recent) {
		this.note.hidden = true;
		this.silent.hidden = this.changed.hidden = this._isDenied;
		if (recent?.error) fail(this.silent, OUT, { message: recent.error });
		else if (recent) this._news(recent);
		const now = performance.now();
		const passed = this._at ? (now - this._at) / 1000 : null;
		const rate = (name) => {
			const grown = growth(metrics, this._before, name);
			return passed && grown !== null ? grown / passed : null;
		};
		const [requests, commits] = [rate("gantt_http_requests_total"), rate("gantt_commit_seconds_count")];
		for (const [name, value] of Object.entries({ requests, commits, queue: total(metrics, "gantt_queue_length") })) {
			if (value !== null) this.history[name] = [...this.history[name], value].slice(-KEPT);
		}
		fill(this.sums, this._tiles(ready, metrics, requests, commits, recent));
		[this._before, this._at] = [metrics, now];
	}

	_tiles(ready, metrics, requests, commits, recent) {
		const of = (name) => total(metrics, `gantt_${name}`);
		const told = (name) => amount(of(name));
		const isReady = ready.startsWith("OK");
		const leaders = metrics.get("gantt_leader") ?? [];
		const silence = of("database_silence_seconds");
		const slow = (part) => seconds(quantile(metrics, this._before, "gantt_commit_seconds", part));
		const counted = (outcome) => (metrics.get("gantt_schedule_total") ?? []).find((one) => one.labels.includes(`"${outcome}"`))?.value ?? 0;
		const perSecond = (number) => (number === null ? "–" : `${amount(number)}/s`);
		return [
			tile("service", isReady ? "ready" : "not ready", ready.replace(/^(OK|NOT READY):? ?/, "") || "knows all commits", { isWrong: !isReady }),
			tile("processes", amount(leaders.length), leaders.some((one) => one.value) ? "one of them leads" : "another leads, or none does"),
			tile("revision", short(of("revision") ?? 0), `${told("revision")}, lag ${told("revision_lag")}`, { isWrong: of("revision_lag") > 1000 }),
			tile("database", silence > LONG_S ? "silent" : "answers", silence > LONG_S ? `for ${amount(silence)} s` : `${told("aborts_total")} aborts, ${told("unknown_outcomes_total")} unknown outcomes`, { isWrong: silence > LONG_S }),
			tile("commits", perSecond(commits), `half ${slow(0.5)}, 99 % ${slow(0.99)}`, { values: this.history.commits }),
			tile("in the queue", told("queue_length"), `of ${told("queue_limit")}, ${told("busy_total")} turned away`, { values: this.history.queue, isWrong: of("queue_length") > of("queue_limit") / 2 }),
			tile("HTTP requests", perSecond(requests), `${told("requests_waiting")} wait, of ${told("requests_waiting_limit")}`, { values: this.history.requests }),
			tile("event streams", told("watchers"), `of ${told("watchers_limit")}, ${told("watchers_turned_away_total")} turned away`, { isWrong: of("watchers") >= of("watchers_limit") }),
			tile("reports in Kafka", told("stream_lag"), `${told("stream_records_total")} read, ${told("stream_dead_letters_total")} dead letters`, { isWrong: of("stream_silence_seconds") > LONG_S }),
			tile("requests without a host", amount(recent?.refused ?? counted("no_valid_host")), `${amount(recent?.placed ?? counted("placed"))} placed${recent?.at ? ", within the hour" : ""}`),
			tile("plug-ins suspended", told("plugins_suspended"), `${told("plugin_failures_total")} failures`, { isWrong: of("plugins_suspended") > 0 }),
		];
	}

	_news(recent) {
		const text = JSON.stringify({ ...recent, at: 0, since: 0 });
		if (text === this._known) return;
		this._known = text;
		fill(this.silent, outTable(recent, OUT));
		fill(this.changed, changeTables(recent));
	}

	async _examine() {
		const again = button("Audit again", () => this._examine(), { class: "small" });
		fill(this.audit, el("h3", "Audit", button("Audit again", null, { class: "small", "aria-disabled": "true" })), el("p.note", "Looking for what disagrees …"));
		try {
			const found = await get("gantt/audit", { limit: MOST_FINDINGS });
			const counts = Object.entries(found.counts).map(([kind, count]) => `${amount(count)} ${kind}`);
			const table = listed("Audit findings", [
				column("Kind", "kind"),
				hostOf("Host"),
				column("Instance", "instance_uuid"),
				column("Detail", "detail", (one) => told(one.detail)),
			], found.findings, MOST_FINDINGS);
			table.querySelector("h3").append(again);
			table.append(el("p.none", ago(found.at), `, revision ${found.revision}: ${counts.join(", ") || (found.is_blind ? "nothing could be compared" : "nothing disagrees")}. What runs is known of ${amount(found.listing)} of ${amount(found.hosts)} hosts${silences(found.silent)}.`));
			fill(this.audit, table);
		} catch (error) {
			this.audit.hidden = error.status === 403;
			fail(this.audit, "Audit", error);
		}
	}
}
