// The page Instances: those that are known, or that are searched, and where each leads.

import { clock, list } from "./api.js";
import { el, fill, loading, refuse, select, toolbar } from "./elements.js";
import { Poll } from "./poll.js";
import { change, link } from "./router.js";
import { Table, code, column, csvButton, hostLink } from "./table.js";
import { amount, local, moment, span } from "./text.js";

const LIMITS = ["50", "200", "1000"];
const EVERY_MS = 10000;
const TYPED_MS = 250;

const COLUMNS = [
	column("Name", "name", undefined, "name"),
	column("Instance", "uuid", (one) => code(one.uuid), "uuid"),
	column("Project", "project_id", (one) => code(one.project_id), "project"),
	column("State", "state", undefined, "state"),
	column("Host", "host", (one) => hostLink(one.host, one.node ?? one.host), "host"),
	column("Claim", "claim", (one) => code(one.claim), "claim"),
	column("Lease", (one) => one.leased_until && moment(one.leased_until), (one) => (one.leased_until ? el("span", { title: local(one.leased_until) }, span((one.leased_until - clock()) / 1e6)) : "–"), "lease"),
	column("Decisions", () => "", (one) => el("a", { href: link("decisions", { q: one.uuid }), "aria-label": `Decisions about ${one.name ?? one.uuid}` }, "show"), "decisions"),
];

export class InstancesView {
	constructor(root) {
		this.params = {};
		this.table = new Table({ columns: COLUMNS, caption: "Instances", sort: "name", sorted: (sort) => change({ sort }, true) });
		this.note = loading();
		this.count = el("span.legend", { role: "status" });
		this.controls = toolbar(
			select("At most", LIMITS.map((one) => [one, amount(Number(one))]), LIMITS[0], (limit) => change({ limit: limit === LIMITS[0] ? "" : limit })),
			csvButton("instances.csv", COLUMNS, () => this.table.shown));
		root.append(el("section.fleet", el("div.controls", this.controls, this.count), this.note, el("div.stage", this.table.root)));
		this.poll = new Poll(
			(signal) => list("gantt/instances", "instances", this._limit, signal, { search: this._sought || null }),
			(found) => this._take(found), (error) => refuse(this.note, "list instances", error), EVERY_MS);
	}

	close() {
		clearTimeout(this._typed);
		this.poll.close();
		this.table.close();
	}

	get _sought() {
		return (this.params.q ?? "").trim();
	}

	get _limit() {
		return LIMITS.includes(this.params.limit) ? this.params.limit : LIMITS[0];
	}

	update(params) {
		const [sought, limit] = [this._sought, this._limit];
		this.params = params;
		this.controls.querySelector("select").value = this._limit;
		this.table.sortBy(COLUMNS.some((one) => one.key === params.sort?.replace(/^-/, "")) ? params.sort : "name");
		if (this._isAsked && sought === this._sought && limit === this._limit) return;
		clearTimeout(this._typed);
		this._typed = setTimeout(() => this.poll.look(true), this._isAsked ? TYPED_MS : 0);
		this._isAsked = true;
	}

	_take(found) {
		this.table.set(found);
		this.note.hidden = found.length > 0;
		const q = this._sought;
		if (!found.length) {
			fill(this.note, q ? ["No instance has this in its name or uuid, nor is it a project's. ", el("a", { href: link("decisions", { q }) }, "Decisions about it")] : "No instance is known.");
		}
		const isCut = found.length >= Number(this._limit);
		fill(this.count, isCut ? `the first ${amount(found.length)} by uuid: search for one, or show more` : `${amount(found.length)} ${q ? "found" : "shown"}`);
	}
}
