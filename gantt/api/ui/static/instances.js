// The page Instances: those that are known, or that are searched, and where each leads.

import { list } from "./api.js";
import { el, fill, loading, refuse, toolbar } from "./elements.js";
import { Poll } from "./poll.js";
import { change, link } from "./router.js";
import { Table, ago, code, column, csvButton, hostLink, limitOf, limits } from "./table.js";
import { amount, moment } from "./text.js";

const EVERY_MS = 10000;
const TYPED_MS = 250;

/** A lease is at its host; what made a claim is its decision. */
const claimed = ({ claim, uuid, host, node, leased_until: lease }) => (claim
	? el("a", { href: lease && host ? link("fleet", { host, node }) : link("decisions", { q: uuid }) }, code(claim)) : "–");

const COLUMNS = [
	column("Name", "name"),
	column("Instance", "uuid", (one) => code(one.uuid)),
	column("Project", "project_id", (one) => code(one.project_id)),
	column("State", "state"),
	column("Host", "host", (one) => hostLink(one.host, one.node ?? one.host)),
	column("Claim", "claim", claimed),
	column("Lease", (one) => one.leased_until && moment(one.leased_until), (one) => ago(one.leased_until)),
	column("Decisions", () => "", (one) => el("a", { href: link("decisions", { q: one.uuid }), "aria-label": `Decisions about ${one.name ?? one.uuid}` }, "show")),
];

export class InstancesView {
	constructor(root) {
		this.params = {};
		this.table = new Table({ columns: COLUMNS, caption: "Instances", sort: "name", sorted: (sort) => change({ sort }, true) });
		this.note = loading();
		this.count = el("span.legend", { role: "status" });
		this.controls = toolbar(
			limits("At most"),
			csvButton("instances", COLUMNS, () => this.table.shown));
		root.append(el("section.fleet", el("div.controls", this.controls, this.count), this.note, el("div.stage", this.table.root)));
		this.poll = new Poll(
			(signal) => list("gantt/instances", "instances", limitOf(this.params), signal, { search: this._sought || null }),
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

	update(params) {
		const [sought, limit] = [this._sought, limitOf(this.params)];
		this.params = params;
		this.controls.querySelector("select").value = limitOf(params);
		this.table.sortBy(params.sort);
		if (this._isAsked && sought === this._sought && limit === limitOf(params)) return;
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
		const isCut = found.length >= limitOf(this.params);
		fill(this.count, isCut ? `the first ${amount(found.length)} by uuid: search for one, or show more` : `${amount(found.length)} ${q ? "found" : "shown"}`);
	}
}
