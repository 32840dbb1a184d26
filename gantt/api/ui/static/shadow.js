// The page Shadow: how far Gantt and Nova agree, where they differ and why.

import { get, now } from "./api.js";
import { button, el, fill, loading, select, terms, toolbar, wrong } from "./elements.js";
import { Poll } from "./poll.js";
import { change, link } from "./router.js";
import { ago, code, column, hostLink, hostOf, listed, number, told } from "./table.js";
import { amount, moment, percent } from "./text.js";

const MOST_RECORDS = 200;
const SINCE = { all: 0, hour: 3600, day: 86400, week: 604800 };
const VERDICTS = ["all", "same", "ranked", "refused_by_gantt", "unknown_host", "refused_by_nova", "both_refused", "undetermined"];
const LISTS = ["ranked", "refused_hosts"];

const ms = (seconds) => (seconds === null ? null : Math.round(seconds * 1e5) / 100);
const flat = (found, name = "") => (found instanceof Object ? Object.entries(found).flatMap(([key, one]) => flat(one, `${name} ${key}`)) : [[name.trim(), found]]);

const both = (of) => [
	column("instance", (one) => of(one).instance_uuid, (one) => code(of(one).instance_uuid)),
	column("nova", (one) => of(one).host, (one) => hostLink(of(one).host)),
	column("gantt", (one) => of(one).gantt_host, (one) => hostLink(of(one).gantt_host)),
	column("request_id", (one) => of(one).request_id, (one) => el("a", { href: link("shadow", { request: of(one).request_id }) }, of(one).request_id)),
];

function whole(one) {
	const fields = Object.entries(one).filter(([name, value]) => value && !LISTS.includes(name)).flatMap(([name, value]) => flat(value, name));
	const node = [hostOf("host"), column("node")];
	return [
		terms(fields.map(([name, value]) => [name, name.endsWith("_at") ? ago(value) : value])),
		one.source === "advice" && el("p", el("a", { href: link("decisions", { q: one.request_id }) }, "The decision")),
		listed("ranked", [...node, number("weight")], one.ranked),
		listed("refused_hosts", [...node, column("refused_by")], one.refused_hosts),
	];
}

export class ShadowView {
	constructor(root) {
		this.bar = toolbar();
		this.part = el("div.part", loading());
		root.append(el("section.health", this.bar, this.part));
		this.poll = new Poll((signal) => this._ask(signal), (found) => this._draw(found), (error) => fill(this.part, wrong(error)), 5000);
	}

	close() {
		this.poll.close();
	}

	update({ since = "all", verdict = "all", request }) {
		this.by = { since, verdict, request };
		const choice = (key, names) => select(key, names, this.by[key], (one) => change({ [key]: one, request: "" }));
		fill(this.bar, choice("since", Object.keys(SINCE)), choice("verdict", VERDICTS),
			request && button("All requests", () => change({ request: "" })));
		this.poll.look(true);
	}

	async _ask(signal) {
		const { verdict, request } = this.by;
		const seconds = SINCE[this.by.since];
		const since = seconds ? Math.floor(await now() / 1000 - seconds) * 1e6 : null;
		const query = request ? { request_id: request } : { since, verdict: verdict === "all" ? null : verdict, limit: MOST_RECORDS };
		return Promise.all([get("gantt/shadow/records", query, signal), request ? null : get("gantt/shadow/report", { since }, signal)]);
	}

	_draw([{ shadow_records: records }, report]) {
		if (!records.length && !report?.records) fill(this.part, el("p.note", "There are no shadow records of this time, or none is kept."));
		else fill(this.part, report ? this._report(report) : null, report ? listed("Latest", [
			column("at", (one) => moment(one.asked_at), (one) => ago(one.asked_at)), column("verdict"), ...both((one) => one), number("rank"), column("refused_by"),
			...["gantt", "nova", "lag"].map((key) => number(`${key}_ms`, (one) => ms(one[`${key}_s`]))),
		], records) : records.map(whole));
	}

	_report({ records, first_at, last_at, verdicts, disagreements, notes, ...figures }) {
		const show = ([name, one]) => (/(same|top_\d+)$/.test(name) ? percent(one ?? NaN) : name.endsWith("_s") ? `${ms(one) ?? "–"} ms` : amount(one));
		return [
			el("p", `${amount(records)} instances from `, ago(first_at), " to ", ago(last_at), "."),
			listed("Verdicts", [column("verdict", "0"), number("count", "1")], Object.entries(verdicts)),
			listed("Agreement", [column("figure", "0"), number("value", "1", show)], flat(figures)),
			listed("Differences by reason", [column("verdict"), column("reason", "reason", (one) => told(one.reason)), number("count"), ...both((one) => one.example)], disagreements),
			notes.map((one) => el("p.none", `Note: ${one}`)),
		];
	}
}
