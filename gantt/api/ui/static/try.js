// The page Try: a dry run, and how many like it fit.

import { list, post } from "./api.js";
import { limitsOf, where } from "./capacity.js";
import { headline, showDecision } from "./decision.js";
import { button, el, fill, offer, say, sign, select, toolbar } from "./elements.js";
import { POLICIES, asked, conceded, names } from "./request.js";
import { change, link } from "./router.js";
import { Stage, measure, range } from "./stage.js";
import { amount } from "./text.js";

const NUMBERS = { vcpus: "vCPUs", memory_mb: "Memory, MB", disk_gb: "Disk, GB", count: "Instances" };
const LISTS = { required: "Required traits", forbidden: "Forbidden traits", within: "In one of the aggregates", outside: "In none of the aggregates" };
const FIELDS = [...Object.keys(NUMBERS), "zone", "group", ...Object.keys(LISTS), "more", "given_up", "spec"];
const FIRST = { vcpus: 2, memory_mb: 4096, disk_gb: 20, count: 1 };
const GROUPINGS = ["zone", "aggregate", "state", "none"];
const MOST_GROUPS = 1_000; // that are offered

const sorted = (values) => [...new Set(values)].filter(Boolean).sort();
const field = (label, input, ...more) => el("div.field", el("label", label, input), more);

/** Several names: each becomes a button, which removes it again. */
function chips(name, chosen, label, offered, text = (one) => one) {
	const put = (value) => button([text(value), " ×"], (event) => event.currentTarget.remove(), { class: "small", value, "aria-label": `Remove ${text(value)}` });
	const list = el("span.names", { data: { name } }, names(chosen).map(put));
	if (!offered) return el("div.field", el("span", label), list);
	const input = el("input", { list: `offer-${name}`, autocomplete: "off", on: { change: () => { if (input.value) list.append(put(input.value)); input.value = ""; } } });
	return field(label, input, el("datalist", { id: `offer-${name}` }, offered.map((value) => el("option", { value }))), list);
}

export class TryView {
	constructor(root) {
		this.params = {};
		this._turn = 0;
		this.stage = new Stage({
			open: (host) => { location.hash = link("fleet", host); },
			changed: (places) => this._changed(places),
			failed: (error) => this._fail(error),
			repaint: () => this._paint(),
		});
		this.columns = this.stage.columns;
		this.form = el("form.request", { "aria-label": "Request", on: { submit: (event) => { event.preventDefault(); this._submit(); } } });
		this.note = el("p", { role: "status" });
		this.bar = toolbar();
		this.aside = el("aside.host.decision.beside", { hidden: true, "aria-label": "Outcome", tabindex: "-1" });
		root.append(el("section.fleet", this.form, this.note, this.bar, this.stage.legend, this.stage.root), this.aside);
		const groups = list("gantt/server_groups", "server_groups", MOST_GROUPS).catch(() => []); // not for this token
		this._ready = Promise.all([groups, new Promise((resolve) => { this._hasHosts = resolve; })]);
		this.stage.look();
	}

	close() {
		this._turn = Infinity;
		this.stage.close();
	}

	_fail(error) {
		this._hasHosts();
		this.note.className = "wrong";
		fill(this.note, error.message);
	}

	async update(params) {
		const before = this.params;
		this.params = params;
		const [groups] = await this._ready;
		if (this._turn === Infinity || params !== this.params) return;
		this._fields(groups);
		if (before.by !== params.by) this.stage.group(params.by || "zone");
		if (!before.isRun || FIELDS.some((key) => before[key] !== params[key])) this._run();
		else this._paint();
		params.isRun = true;
	}

	_fields(groups) {
		const { columns, params } = this;
		this.isAsked = FIELDS.some((key) => params[key]);
		const given = this.isAsked ? params : FIRST;
		const offered = { required: sorted(columns.traits.flat()), within: sorted([...columns.aggregateNames].map(([uuid, name]) => name || uuid)) };
		[offered.forbidden, offered.outside] = [offered.required, offered.within];
		const choice = (label, name, none, options) => {
			if (params[name] && !options.some(([value]) => value === params[name])) options.push([params[name], params[name]]);
			return el("div.field", select(label, [["", none], ...options], params[name] ?? "", () => {}, name));
		};
		const other = el("textarea", { name: "spec", rows: 3, spellcheck: "false", "aria-label": "Other fields, as JSON" });
		other.value = params.spec ?? "";
		fill(this.form,
			Object.entries(NUMBERS).map(([name, label]) => field(label, el("input", { name, type: "number", min: name === "count" ? 1 : 0, value: given[name] ?? "" }))),
			choice("Zone", "zone", "any", sorted(columns.zones).map((one) => [one, one])),
			choice("Server group", "group", "none", [...POLICIES.map((one) => [one, `a new one: ${one}`]), ...groups.map((one) => [one.uuid, `${one.policy} ${one.uuid}`])]),
			Object.entries(LISTS).map(([name, label]) => chips(name, params[name], label, offered[name])),
			field("More of the flavor", el("input", { name: "more", value: params.more ?? "", placeholder: "resources:VGPU=1", spellcheck: "false" })),
			params.given_up && chips("given_up", params.given_up, "Given up", null, conceded),
			el("details.field", { open: Boolean(params.spec) }, el("summary", "Other fields, as JSON"), other),
			el("span.field", el("button.primary", { type: "submit" }, "Try"), " ", button("Clear", () => change(Object.fromEntries(FIELDS.map((key) => [key, ""]))))));
	}

	_submit() {
		const found = { given_up: "" };
		for (const { name, value } of this.form.elements) if (name) found[name] = value.trim();
		for (const list of this.form.querySelectorAll(".names")) found[list.dataset.name] = [...list.children].map((one) => one.value).join("\n");
		if (FIELDS.every((key) => found[key] === (this.params[key] ?? ""))) this._run();
		else change(found);
	}

	async _run() {
		const turn = ++this._turn;
		this.decision = this.room = null;
		this.aside.hidden = true;
		this.note.className = "note";
		fill(this.note, this.isAsked ? "" : "Nothing is claimed: this page shows where instances would go.");
		this._paint();
		if (!this.isAsked) return;
		try {
			const request = asked(this.params, this.columns.aggregateNames);
			const decision = await post("gantt/select", { dry_run: true, ...request });
			const spec = request.given_up.length ? decision.request?.request_spec : null;
			const room = await post("gantt/capacity", { request_spec: spec ?? request.request_spec });
			if (turn !== this._turn) return;
			[this.decision, this.room] = [decision, room];
			this._show();
		} catch (error) {
			if (turn === this._turn) this._fail(error);
		}
	}

	_show() {
		const { decision, room } = this;
		const on = room.hosts ? `, on ${amount(Object.keys(room.hosts).length)} hosts` : "";
		const more = room.total ? `${room.is_lower_bound ? "At least " : ""}${amount(room.total)} like this fit now${on}, these included.` : "None like this fits now.";
		this.aside.hidden = false;
		showDecision(this.aside, decision, null,
			el("p.help", `${more} What blocks one more, on how many hosts: ${limitsOf(room) || "nothing"}.`),
			decision.request?.filters_off.length > 0 && el("p.none", "Filters that were given up still count for that."));
		this.aside.append(where(room) ?? "");
		this.aside.scrollTop = 0;
		say(`${headline(decision)}. ${more}`);
		this._paint();
	}

	_changed(places) {
		this._hasHosts();
		if (places === null) this.stage.group(this.params.by || "zone");
		this._paint();
		if (places) this.stage.map.changed(places);
	}

	_measures() {
		const { columns, decision, room } = this;
		const found = new Map();
		const put = (key, label, pairs) => {
			if (!pairs?.length) return;
			const values = new Map(pairs);
			const value = (index) => values.get(columns.hosts[index]);
			found.set(key, { label, value, ...range(columns, value), text: amount });
		};
		put("weight", "Weight", decision?.scores.map((one) => [one.host, one.weight]));
		put("room", "How many more fit", room?.hosts && Object.entries(room.hosts));
		for (const name of [...columns.classes.keys()].sort((one) => (one === "VCPU" ? -1 : 1))) found.set(`use:${name}`, measure(columns, `use:${name}`));
		return found;
	}

	_paint() {
		const { columns, stage } = this;
		const { by = "zone", colour } = this.params;
		const measures = this._measures();
		if (!measures.size) return;
		const key = measures.has(colour) ? colour : measures.keys().next().value;
		stage.style(measures.get(key));
		const chosen = (this.decision?.chosen ?? []).map(([one]) => columns.find(one.service_host, one.nodename));
		stage.map.chosen = chosen.filter((one) => one !== undefined);
		stage.explain(key.startsWith("use:") ? "none here" : "cannot take it", chosen.length > 0 && sign("ring", "chosen"));
		const colours = [...measures].map(([name, one]) => [name, one.label]);
		offer(this.bar, [colours, key, by], () => [
			select("Colour", colours, key, (one) => change({ colour: one })),
			select("Group by", GROUPINGS, by, (one) => change({ by: one })),
		]);
	}
}
