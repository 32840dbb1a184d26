// The page Decisions: a list, and one of them beside it.

import { get, list } from "./api.js";
import { headline, showDecision } from "./decision.js";
import { button, el, fill, loading, refuse, say, select, toolbar } from "./elements.js";
import { hostsOf, lacked, namesOf, outcome, reason, stepsOf, took } from "./ranking.js";
import { Poll } from "./poll.js";
import { wanted } from "./request.js";
import { change } from "./router.js";
import { Search } from "./search.js";
import { Table, ago, column, csvButton, headed, limitOf, limits, number } from "./table.js";
import { UUID, amount, moment } from "./text.js";

const KINDS = ["placed", "refused", "repair", "takeover"];

const askedOf = (one) => one.request && wanted(one.request.request_spec).map(([, text]) => text).join(" · ");
const textOf = (one) => [
	one.request_id, one.project_id, ...one.instance_uuids, ...namesOf(one), ...hostsOf(one), one.failure, one.driver, askedOf(one), lacked(one), reason(one),
].join("\n").toLowerCase();
const some = (names) => (names.length ? [names[0], names.length > 1 && el("small", ` +${amount(names.length - 1)}`)] : "–");

const told = (text) => (text ? el("span", { title: text }, text) : "–");

function columnsOf(of) {
	const about = (kind) => (key, label, value, show) => kind(label, (row) => value(of(row)), show && ((row) => show(of(row))), key);
	const [text, count] = [about(column), about(number)];
	return [
		text("at", "When", (one) => moment(one.at), (one) => ago(one.at)),
		text("outcome", "Outcome", outcome, (one) => [el(`span.badge.${outcome(one)}`, outcome(one)), one.is_dry_run && el("small", " dry run")]),
		text("hosts", "Hosts", (one) => hostsOf(one).join(" "), (one) => hostsOf(one).join(", ") || "–"),
		text("asked", "Asked", askedOf, (one) => told(askedOf(one))),
		text("lacked", "Lacked", lacked, (one) => told(lacked(one))),
		text("why", "Why", reason, (one) => told(reason(one))),
		text("instance", "Instance", (one) => namesOf(one).join(" "), (one) => some(namesOf(one))),
		count("instances", "Instances", (one) => Math.max(one.instance_uuids.length, one.chosen.length)),
		count("candidates", "Candidates", (one) => one.hosts),
		count("left", "Passed", (one) => stepsOf(one).at(-1)?.after ?? null),
		count("took", "ms", (one) => Math.round(took(one) * 1e4) / 10),
		text("request", "Request", (one) => one.request_id),
		text("project", "Project", (one) => one.project_id),
	];
}

export class DecisionsView {
	constructor(root) {
		this.params = {};
		this.found = new Map(); // key -> decision, the latest first
		this.apart = new Map(); // those that were asked for by name
		this._sought = new Map(); // what was asked for so -> whether it was answered
		this._fail = (error) => refuse(this.note, "list decisions", error);
		this._parts(root);
		this.poll = new Poll((signal) => list("gantt/decisions", "decisions", limitOf(this.params), signal), (decisions) => this._take(decisions), this._fail);
	}

	close() {
		this._isClosed = true;
		this.poll.close();
		this.search.close();
		this.table.close();
	}

	_parts(root) {
		const of = (row) => this._of(row);
		this.columns = columnsOf(of);
		this.table = new Table({
			columns: this.columns, caption: "Decisions", sort: "-at",
			open: (row) => this.open(row), sorted: (sort) => change({ sort }, true), isCurrent: (row) => row === this._chosen,
		});
		this.note = loading();
		this.search = new Search("Search decisions", "Search decisions by request, instance, project, host or reason", {
			enter: () => { if (this.table.shown.length) this.open(this.table.shown[0]); },
			escape: () => { if (this.params.at) this._leave(); },
			key: (event) => this._key(event),
		});
		this.pause = button("Pause", () => this._pause(), { "aria-pressed": "false", title: "Stop the list (p)" });
		this.count = el("span.legend", { role: "status" });
		this.controls = toolbar(
			select("Show", [["", "all"], ...KINDS], "", (show) => change({ show })),
			limits("Latest"),
			this.pause,
			csvButton("decisions", this.columns, () => this.table.shown));
		this.aside = el("aside.host.decision", { hidden: true, "aria-label": "Decision", tabindex: "-1" });
		root.append(
			el("section.fleet", el("div.controls", this.search.input, this.controls, this.count), this.note, el("div.stage", this.table.root)),
			this.aside,
		);
	}

	update(params) {
		const isOther = params.limit !== this.params.limit || !this._isLoaded;
		this.params = params;
		this.search.show(params.q);
		const [show, limit] = this.controls.querySelectorAll("select");
		[show.value, limit.value] = [params.show ?? "", limitOf(params)];
		this.table.sortBy(params.sort);
		if (isOther) this.poll.look(true);
		if (this._isLoaded) this._draw();
	}

	_of(key) {
		return this.found.get(key) ?? this.apart.get(key);
	}

	_take(decisions) {
		const found = this._keyed(decisions);
		this._isLoaded = true;
		const open = this._of(this._chosen);
		if (open && !found.has(this._chosen)) this.apart.set(this._chosen, open); // it stays readable
		this.found = found;
		this._draw();
	}

	_keyed(decisions) {
		const found = new Map();
		for (const one of decisions) {
			let key = `${one.at} ${one.request_id}`;
			while (found.has(key)) key += " ";
			found.set(key, one);
		}
		return found;
	}

	async _seek(name) {
		if (this._sought.has(name)) return;
		this._sought.set(name, false);
		try {
			const answers = await Promise.all([get("gantt/decisions", { request_id: name }), get("gantt/decisions", { instance_uuid: name })]);
			for (const [key, one] of this._keyed(answers.flatMap((answer) => answer.decisions))) this.apart.set(key, one);
			this._sought.set(name, true);
			if (!this._isClosed) this._draw();
		} catch (error) {
			this._fail(error);
		}
	}

	_draw() {
		const rows = this._rows();
		this.table.set(rows);
		this.note.hidden = rows.length > 0;
		if (!rows.length) fill(this.note, this.found.size ? "No decision matches." : "No decision has been made yet, or none is kept.");
		const refused = rows.filter((key) => outcome(this._of(key)) === "refused").length;
		fill(this.count, `${amount(rows.length)} shown, ${amount(refused)} refused`);
		this._select();
	}

	_rows() {
		const { show, q = "" } = this.params;
		const query = q.trim().toLowerCase();
		const all = new Map([...this.found, ...(query ? this.apart : [])]);
		const rows = [...all].filter(([, one]) => (!show || outcome(one) === show) && (!query || textOf(one).includes(query))).map(([key]) => key);
		if (UUID.test(query.replace(/^req-/, "")) && !rows.length) this._seek(q.trim());
		return rows;
	}

	open(key) {
		const one = this._of(key);
		say(`${headline(one)}, ${moment(one.at)}`);
		change({ request: one.request_id, at: one.at });
	}

	_leave() {
		change({ request: "", at: "" });
		this.table.root.focus();
	}

	_select() {
		const { at, request = "" } = this.params;
		const key = at ? `${at} ${request}` : null;
		if (key !== this._chosen) this.table.request();
		this._chosen = key;
		this.aside.hidden = !key;
		const decision = this._of(key);
		if (decision && key === this._shown) return;
		this._shown = decision ? key : null;
		if (decision) {
			showDecision(this.aside, decision, () => this._leave());
			this.aside.scrollTop = 0;
		} else if (key) {
			const isLost = !request || this._sought.get(request);
			fill(this.aside,
				headed(request || "Decision", () => this._leave()),
				el("p.note", isLost ? "It is not kept, or no longer: only the latest decisions are ([scheduler] shared_records, or records)." : "Loading …"));
			if (request) this._seek(request);
		}
	}

	_pause() {
		this.poll.pause(!this.poll.isPaused);
		this.pause.ariaPressed = String(this.poll.isPaused);
	}

	_key(event) {
		const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
		if (event.key === "p") this._pause();
		else if (by && !this.aside.contains(event.target)) {
			event.preventDefault();
			this._step(by);
		}
	}

	_step(by) {
		const { shown } = this.table;
		if (!shown.length) return;
		const here = shown.indexOf(this._chosen);
		const next = here < 0 ? 0 : Math.max(0, Math.min(shown.length - 1, here + by));
		this.table.reveal(next);
		this.open(shown[next]);
	}
}
