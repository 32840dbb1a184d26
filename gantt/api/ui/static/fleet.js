// The page Fleet: a map or a table, and one host.

import { get } from "./api.js";
import { STATES } from "./columns.js";
import { bar, button, el, fill, loading, offer, refuse, say, select, toolbar } from "./elements.js";
import { HostPanel } from "./host.js";
import { change } from "./router.js";
import { Search } from "./search.js";
import { session } from "./session.js";
import { Stage, measure } from "./stage.js";
import { Table, ago, column, csv, number, save } from "./table.js";
import { UUID, amount, percent, sized } from "./text.js";
import { Wrong } from "./wrong.js";

const LEAST_SIZE = 0.42;
// There a map has no room for names, and a table has.
const small = matchMedia("(max-width: 480px)");
const SHOWN_CLASSES = 6;

export class FleetView {
	constructor(root) {
		this.params = {};
		this.stage = new Stage({
			open: change,
			changed: (places) => this._changed(places),
			failed: (error) => this._fail(error),
			repaint: () => { this._restyle(); this._legend(); },
		});
		({ canvas: this.canvas, columns: this.columns, map: this.map } = this.stage);
		this.canvas.ariaLabel += " T shows a table.";
		this._parts(root);
		this.panel = new HostPanel(this.aside, () => change({ host: "", node: "" }));
		this._moved = () => { if (this.columns.place !== null) this._show(); };
		small.addEventListener("change", this._moved);
		this.stage.look();
	}

	close() {
		small.removeEventListener("change", this._moved);
		this.search.close();
		this.wrong.close();
		this.stage.close();
		this.table?.close();
		this.panel.hide();
	}

	_parts(root) {
		this.note = loading();
		this.bar = toolbar();
		this.sums = el("div.sums");
		this.wrong = new Wrong(this.columns);
		this.search = new Search("Search hosts", "Search hosts", {
			enter: () => {
				if (!this.matches?.length) return;
				this.map.zoomTo(this.matches[0]);
				this.open(this.matches[0]);
			},
			escape: () => {
				if (!this.params.host) return;
				change({ host: "", node: "" });
				this.canvas.focus();
			},
			key: (event) => { if (event.key === "t") change({ view: this._view === "table" ? "map" : "table" }); },
		});
		this.aside = el("aside.host", { hidden: true, "aria-label": "Host" });
		root.append(
			el("section.fleet", this.sums, this.wrong.root, el("div.controls", this.search.input, this.bar), this.stage.legend, this.note, this.stage.root),
			this.aside,
		);
	}

	get by() {
		return { group: this.params.group || "zone", colour: this.params.colour || "fullest", size: this.params.size ?? "" };
	}

	get _view() {
		return this.params.view || (small.matches ? "table" : "map");
	}

	update(params) {
		const before = this.params;
		this.params = params;
		this.search.show(params.q);
		if (this.columns.place === null) return;
		if (before.group !== params.group) this._regroup();
		this._show();
		this._select();
	}

	_changed(places) {
		const isFirst = !this._isLoaded;
		this._isLoaded = true;
		this.note.hidden = this.columns.count > 0;
		if (!this.columns.count) fill(this.note, "No host has reported yet.");
		if (places === null) {
			this._regroup();
			this._show();
		} else if (places.length) {
			this.stage.styleOf(places);
			this.map.changed(places);
			if (this.table) this._rows();
		}
		if (places === null || places.length) {
			this._totals();
			const mine = this.columns.find(this.params.host, this.params.node);
			if (isFirst) {
				this._select();
				this.wrong.look();
			}
			else if (this.params.host && (places === null || places.includes(mine))) this.panel.refresh();
		}
	}

	_show() {
		this._restyle();
		this._match();
		this._controls();
		this._switch();
		this._legend();
	}

	_fail(error) {
		refuse(this.note, "list hosts", error);
		if (error.status === 403) session.dispatchEvent(new Event("member"));
	}

	_regroup() {
		this.stage.group(this.by.group);
	}

	_restyle() {
		this._largest = this._sizeOf(null);
		this.stage.style(measure(this.columns, this.by.colour), (index) => this._sizeOf(index));
	}

	/** The side of a host's cell, 0..1; of null: the largest capacity. */
	_sizeOf(index) {
		const capacity = this.columns.classes.get(this.by.size)?.capacity;
		if (!capacity) return 1;
		if (index === null) return capacity.reduce((one, other) => Math.max(one, other), 0) || 1;
		return LEAST_SIZE + (1 - LEAST_SIZE) * Math.sqrt(capacity[index] / this._largest);
	}

	_match() {
		const query = (this.params.q ?? "").trim().toLowerCase();
		this.matches = query ? this._all().filter((index) => this._hay(index).includes(query)) : null;
		this.map.faded = query ? new Uint8Array(this.columns.count).fill(1) : null;
		this.matches?.forEach((index) => { this.map.faded[index] = 0; });
		this.map.restyle();
		if (this.table) this._rows();
		if (UUID.test(query) && !this.matches.length) this._locate(query);
	}

	async _locate(uuid) {
		if (uuid === this._sought) return;
		this._sought = uuid;
		try {
			const { allocations } = await get(`allocations/${uuid}`);
			const provider = Object.keys(allocations)[0] ?? uuid;
			const found = await get("resource_providers", { in_tree: provider });
			const names = new Set(found.resource_providers.map((one) => one.name));
			const index = this.columns.nodes.findIndex((node) => names.has(node));
			if (index >= 0 && this.params.q?.trim().toLowerCase() === uuid) this.open(index);
		} catch (error) {
			say(error.message);
		}
	}

	_hay(index) {
		const { columns } = this;
		return `${columns.name(index)} ${columns.zones[index]} ${STATES[columns.states[index]]}`.toLowerCase();
	}

	_totals() {
		const { columns } = this;
		const counts = columns.stateCounts();
		const tile = (...inside) => el("div.tile", inside);
		const share = ({ used, capacity }) => used / capacity;
		const rank = (name) => ["DISK_GB", "MEMORY_MB", "VCPU"].indexOf(name);
		const totals = [...columns.totals()].sort(([name, one], [other, two]) => rank(other) - rank(name) || share(two) - share(one));
		fill(this.sums,
			tile(el("b", amount(columns.count)), el("span.name", "hosts"),
				el("small", STATES.map((name, at) => (at && counts[at] ? `${amount(counts[at])} ${name}` : "")).filter(Boolean).join(" · ") || "all enabled")),
			totals.slice(0, SHOWN_CLASSES).map(([name, sum]) =>
				tile(el("b", percent(share(sum))), el("span.name", name), bar(share(sum), `${name}: ${percent(share(sum))} used`),
					el("small", `${sized(sum.used, name)} of ${sized(sum.capacity, name)}`))));
	}

	_controls() {
		const { columns, by } = this;
		const classes = [...columns.classes.keys()];
		const groups = ["zone", "aggregate", "state", ["none", "nothing"], ...[...new Set(columns.traits.flat())].sort().map((one) => [`trait:${one}`, `trait ${one}`])];
		const colours = [
			["fullest", "fullest class"],
			...classes.map((one) => [`use:${one}`, `use of ${one}`]), ["count:instances", "instances"], ["age:report", "age of the report"],
			...[...columns.metrics.keys()].map((one) => [`metric:${one}`, `metric ${one}`]),
		];
		const show = (label, view) => button(label, () => change({ view }), { "aria-pressed": String(view === this._view) });
		offer(this.bar, [groups, colours, by, this._view], () => [
			select("Group by", groups, by.group, (group) => change({ group })),
			select("Colour", colours, by.colour, (colour) => change({ colour })),
			select("Size", [["", "equal"], ...classes.map((one) => [one, `capacity of ${one}`])], by.size, (size) => change({ size })),
			el("span.pair", { role: "group", "aria-label": "Show as" }, show("Map", "map"), show("Table", "table")),
			button("CSV", () => this._save()),
		]);
	}

	_legend() {
		this.stage.explain("none here", el("span.found", { role: "status" }, this.matches ? `${amount(this.matches.length)} found` : ""));
	}

	_switch() {
		const isTable = this._view === "table";
		const heads = [...this.columns.classes.keys(), ...this.columns.metrics.keys()].join("\n");
		this.canvas.hidden = isTable;
		if (this.table && (!isTable || heads !== this._heads)) {
			this.table.close();
			this.table.root.remove();
			this.table = null;
		}
		if (isTable && !this.table) {
			this._heads = heads;
			this.table = new Table({
				columns: this._tableColumns(), caption: "Hosts", sort: this.params.sort || "host",
				open: (index) => this.open(index), sorted: (sort) => change({ sort }, true),
			});
			this.stage.root.append(this.table.root);
			this._rows();
		}
	}

	_tableColumns() {
		const { columns } = this;
		return [
			column("Host", (index) => columns.name(index)),
			column("Zone", (index) => columns.zones[index]),
			column("State", (index) => STATES[columns.states[index]]),
			number("Instances", (index) => columns.instances[index]),
			...[...columns.classes].flatMap(([name, { capacity, used }]) => [
				number(`${name} used`, (index) => used[index], (index) => [sized(used[index], name), " ", el("small", `of ${sized(capacity[index], name)}`)], `use:${name}`),
				number("%", (index) => columns.use(index, name), (index) => percent(columns.use(index, name) ?? NaN), `part:${name}`),
			]),
			...[...columns.metrics].map(([name, values]) => number(name, (index) => values[index], (index) => amount(values[index]), `metric:${name}`)),
			number("Report", (index) => columns.age(index), (index) => ago(columns.updatedAt[index]), "age"),
		];
	}

	_all() {
		return [...this.columns.hosts.keys()];
	}

	_rows() {
		this.table.set(this.matches ?? this._all());
	}

	_save() {
		const indices = this.table ? this.table.shown : this.matches ?? this._all();
		save("hosts.csv", csv(this._tableColumns(), indices));
	}

	open(index) {
		change(this.columns.address(index));
	}

	_select() {
		const { host } = this.params;
		const node = this.params.node || host;
		if (!host) {
			this.panel.hide();
			this.map.focus(-1);
			return;
		}
		const index = this.columns.find(host, node);
		if (index !== undefined && index !== this.map.focused) this.map.focus(index);
		this.panel.show(host, node, this.columns);
	}
}
