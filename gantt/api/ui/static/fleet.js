// The page Fleet: all hosts, as a map or as a table, and one host beside it.

import { get, path } from "./api.js";
import { Columns, Refresher, STATES } from "./columns.js";
import { bar, button, el, fill, say, select } from "./elements.js";
import { HostPanel } from "./host.js";
import { live } from "./live.js";
import { HostMap } from "./map.js";
import { change } from "./router.js";
import { Search } from "./search.js";
import { NONE, OVER, STEPS, palette, step } from "./scale.js";
import { Table, csv, save } from "./table.js";
import { age, amount, percent, plain, short, sized } from "./text.js";
import { isDark, theme } from "./theme.js";

const LEAST_SIZE = 0.42;
const SHOWN_CLASSES = 6;
const NO_ZONE = "no zone";
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** What hosts are coloured by: { value(index), least, most, text(value) }. */
function measure(columns, by) {
	const [kind, name] = [by.slice(0, by.indexOf(":")), by.slice(by.indexOf(":") + 1)];
	if (kind === "use") {
		return { label: `${name} used`, value: (index) => columns.use(index, name), least: 0, most: 1, text: percent };
	}
	if (by === "age:report") {
		const value = (index) => (columns.updatedAt[index] === null ? null : (columns.at - columns.updatedAt[index]) / 6e7);
		return { label: "Minutes since the last report", value, ...range(columns, value, 1), text: amount };
	}
	const column = by === "count:instances" ? columns.instances : columns.metrics.get(name) ?? [];
	const value = (index) => column[index];
	return { label: by === "count:instances" ? "Instances" : name, value, ...range(columns, value), text: amount };
}

function range(columns, value, floor = 0) {
	let most = floor;
	let least = Infinity;
	for (let index = 0; index < columns.count; index += 1) {
		const one = value(index);
		if (one === null || one === undefined) continue;
		if (one > most) most = one;
		if (one < least) least = one;
	}
	return { least: Math.min(0, Number.isFinite(least) ? least : 0), most: most || 1 };
}

/** Hosts by what they have in common: [{ name, members }]. */
function grouped(columns, by) {
	const members = new Map();
	const put = (name, index) => {
		if (!members.has(name)) members.set(name, []);
		members.get(name).push(index);
	};
	const trait = by.startsWith("trait:") ? by.slice(6) : null;
	for (let index = 0; index < columns.count; index += 1) {
		if (trait) put(columns.traits[index].includes(trait) ? trait : `not ${trait}`, index);
		else if (by === "aggregate") {
			// Those that are zones have a grouping of their own.
			const names = columns.aggregates[index].map((uuid) => columns.aggregateNames.get(uuid) || uuid);
			put(names.filter((name) => name !== columns.zones[index]).join(" + ") || "no aggregate", index);
		} else if (by === "state") put(STATES[columns.states[index]], index);
		else put(by === "none" ? "all hosts" : columns.zones[index] || NO_ZONE, index);
	}
	const collator = new Intl.Collator(undefined, { numeric: true });
	const names = columns.hosts.map((_, index) => columns.name(index));
	const groups = [...members].map(([name, indices]) => ({ name, members: indices }));
	for (const group of groups) group.members.sort((one, other) => collator.compare(names[one], names[other]));
	return groups.sort((one, other) => collator.compare(one.name, other.name));
}

class FleetView {
	constructor(root) {
		this.columns = new Columns();
		this.params = {};
		this.refresher = new Refresher(this.columns, {
			changed: (places) => this._changed(places),
			failed: (error) => this._fail(error),
		});
		this._parts(root);
		this.map = new HostMap(this.canvas, {
			name: (index) => this.columns.name(index),
			pick: (index) => say(this.sentence(index)),
			open: (index) => this.open(index),
			hover: (index, x, y) => this._hover(index, x, y),
		});
		this.panel = new HostPanel(this.aside, () => change({ host: "", node: "" }));
		this._tick = () => this.refresher.look();
		this._repaint = () => { this._restyle(); this._legend(); };
		live.addEventListener("tick", this._tick);
		theme.addEventListener("change", this._repaint);
		this.refresher.look();
	}

	close() {
		live.removeEventListener("tick", this._tick);
		theme.removeEventListener("change", this._repaint);
		this.search.close();
		this.refresher.close();
		this.map.close();
		this.table?.close();
		this.panel.close();
	}

	_parts(root) {
		this.canvas = el("canvas", {
			tabindex: "0", role: "application", "aria-roledescription": "map of hosts",
			"aria-label": "Map of hosts. Arrow keys move, Enter opens a host, plus and minus zoom, 0 shows all, T shows a table.",
		});
		this.tip = el("div.tip", { hidden: true });
		this.stage = el("div.stage", this.canvas, this.tip);
		this.note = el("p.note", { role: "status" }, "Loading …");
		this.legend = el("div.legend");
		this.bar = el("div", { role: "toolbar", "aria-label": "What is shown" });
		this.sums = el("div.sums");
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
			key: (event) => { if (event.key === "t") change({ view: this.params.view === "table" ? "" : "table" }); },
		});
		this.aside = el("aside.host", { hidden: true, "aria-label": "Host" });
		root.append(
			el("h1.spoken", "Fleet"),
			el("section.fleet", this.sums, el("div.controls", this.search.input, this.bar), this.legend, this.note, this.stage),
			this.aside,
		);
	}

	// ----------------------------------------------------------------- parameters

	get by() {
		return {
			group: this.params.group || "zone",
			colour: this.params.colour || `use:${this._firstClass()}`,
			size: this.params.size ?? "",
		};
	}

	_firstClass() {
		return this.columns.classes.has("VCPU") ? "VCPU" : [...this.columns.classes.keys()][0] ?? "VCPU";
	}

	update(params) {
		const before = this.params;
		this.params = params;
		this.search.show(params.q);
		if (this.columns.place === null) return;
		if (before.group !== params.group) this._regroup();
		if (before.view !== params.view) this._switch();
		this._restyle();
		this._match();
		this._controls();
		this._legend();
		this._select();
	}

	// -------------------------------------------------------------------- changes

	_changed(places) {
		const isFirst = !this._isLoaded;
		this._isLoaded = true;
		this.note.hidden = this.columns.count > 0;
		if (!this.columns.count) fill(this.note, "No host has reported yet.");
		if (places === null) {
			this._regroup();
			this._restyle();
			this._match();
			this._controls();
			this._switch();
			this._legend();
		} else if (places.length) {
			this._styleOf(places);
			this.map.changed(places);
			if (this.table) this._rows();
		}
		if (places === null || places.length) {
			this._totals();
			const mine = this.columns.find(this.params.host, this.params.node || this.params.host);
			if (isFirst) this._select();
			else if (this.params.host && (places === null || places.includes(mine))) this.panel.refresh();
		}
	}

	_fail(error) {
		this.note.hidden = false;
		fill(this.note, error.status === 403 ? `This token may not list hosts: ${error.message}` : error.message);
	}

	_regroup() {
		this.map.setGroups(grouped(this.columns, this.by.group), this.columns.count);
	}

	_restyle() {
		const { count } = this.columns;
		this.measure = measure(this.columns, this.by.colour);
		this._largest = this._sizeOf(null);
		if (this.map.steps.length !== count) {
			this.map.steps = new Uint8Array(count);
			this.map.sizes = new Float32Array(count);
		}
		this._styleOf(Array(count).keys());
		this.map.states = this.columns.states;
		this.map.restyle();
	}

	_styleOf(indices) {
		const { least, most, value } = this.measure;
		for (const index of indices) {
			this.map.steps[index] = step(value(index), least, most);
			this.map.sizes[index] = this._sizeOf(index);
		}
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
		const { columns } = this;
		if (!query) {
			this.map.faded = null;
			this.matches = null;
		} else {
			this.map.faded = new Uint8Array(columns.count).fill(1);
			this.matches = [];
			for (let index = 0; index < columns.count; index += 1) {
				if (this._hay(index).includes(query)) {
					this.map.faded[index] = 0;
					this.matches.push(index);
				}
			}
		}
		this.map.restyle();
		if (this.table) this._rows();
		if (UUID.test(query) && !this.matches.length) this._locate(query);
	}

	/** The host of an instance or a provider, whose uuids are not on the map. */
	async _locate(uuid) {
		if (uuid === this._sought) return;
		this._sought = uuid;
		try {
			const { allocations } = await get(path("allocations", uuid));
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

	// ----------------------------------------------------------------- what is seen

	_totals() {
		const { columns } = this;
		const counts = columns.stateCounts();
		const tiles = [
			el("div.tile", el("b", amount(columns.count)), el("span", "hosts"),
				el("small", STATES.map((name, at) => (at && counts[at] ? `${amount(counts[at])} ${name}` : "")).filter(Boolean).join(" · ") || "all enabled")),
		];
		const totals = [...columns.totals()].sort(([, one], [, other]) => other.used / other.capacity - one.used / one.capacity);
		const first = ["VCPU", "MEMORY_MB", "DISK_GB"].flatMap((name) => totals.filter(([one]) => one === name));
		const rest = totals.filter((one) => !first.includes(one));
		for (const [name, { capacity, used }] of [...first, ...rest].slice(0, SHOWN_CLASSES)) {
			tiles.push(
				el("div.tile", el("b", percent(used / capacity)), el("span.name", plain(name)),
					bar(used / capacity, `${plain(name)}: ${percent(used / capacity)} used`),
					el("small", `${sized(used, name)} of ${sized(capacity, name)}`)),
			);
		}
		fill(this.sums, tiles);
	}

	_controls() {
		const { columns, by } = this;
		const classes = [...columns.classes.keys()];
		const traits = [...new Set(columns.traits.flat())].sort();
		const groups = [["zone", "zone"], ["aggregate", "aggregate"], ["state", "state"], ["none", "nothing"], ...traits.map((one) => [`trait:${one}`, `trait ${one}`])];
		const colours = [
			...classes.map((one) => [`use:${one}`, `use of ${plain(one)}`]),
			["count:instances", "instances"],
			["age:report", "age of the report"],
			...[...columns.metrics.keys()].map((one) => [`metric:${one}`, `metric ${plain(one)}`]),
		];
		const isTable = this.params.view === "table";
		const offered = JSON.stringify([groups, colours]);
		if (offered !== this._offered) this._offer(groups, colours, classes);
		this._offered = offered;
		const [group, colour, size] = this.bar.querySelectorAll("select");
		[group.value, colour.value, size.value] = [by.group, by.colour, by.size];
		const [map, table] = this.bar.querySelectorAll(".pair button");
		map.setAttribute("aria-pressed", String(!isTable));
		table.setAttribute("aria-pressed", String(isTable));
	}

	/** Only where the choices are others: what has the focus keeps it. */
	_offer(groups, colours, classes) {
		const { by } = this;
		fill(
			this.bar,
			select("Group by", groups, by.group, (group) => change({ group })),
			select("Colour", colours, by.colour, (colour) => change({ colour })),
			select("Size", [["", "equal"], ...classes.map((one) => [one, `capacity of ${plain(one)}`])], by.size, (size) => change({ size })),
			el("span.pair", { role: "group", "aria-label": "Show as" },
				button("Map", () => change({ view: "" })),
				button("Table", () => change({ view: "table" }))),
			button("CSV", () => this._save()),
		);
	}

	_legend() {
		const { least, most, text, label } = this.measure;
		const colours = palette(isDark());
		const steps = Array.from({ length: 24 }, (_, at) => el("i", { style: { background: colours[Math.floor((at * (STEPS - 1)) / 23)] } }));
		const found = this.matches ? `${amount(this.matches.length)} found` : "";
		fill(
			this.legend,
			el("span", plain(label)),
			el("span.scale", { "aria-hidden": "true" }, el("small", text(least)), steps, el("small", text(most))),
			el("span", el("i.key", { style: { background: colours[OVER] } }), "more than there is"),
			el("span", el("i.key", { style: { background: colours[NONE] } }), "none here"),
			el("span", el("i.key.hollow"), "disabled"),
			el("span", el("i.key.crossed"), "down"),
			el("span.found", { role: "status" }, found),
		);
	}

	_switch() {
		const isTable = this.params.view === "table";
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
			this.stage.append(this.table.root);
			this._rows();
		}
	}

	_tableColumns() {
		const { columns } = this;
		const number = (key, label, value, show) => ({ key, label, value, show, isNumber: true });
		return [
			{ key: "host", label: "Host", value: (index) => columns.name(index), show: (index) => plain(columns.name(index)) },
			{ key: "zone", label: "Zone", value: (index) => columns.zones[index] },
			{ key: "state", label: "State", value: (index) => STATES[columns.states[index]] },
			number("instances", "Instances", (index) => columns.instances[index]),
			...[...columns.classes.keys()].flatMap((name) => [
				number(`use:${name}`, `${name} used`, (index) => columns.classes.get(name).used[index],
					(index) => [short(columns.classes.get(name).used[index]), " ", el("small", `of ${short(columns.classes.get(name).capacity[index])}`)]),
				number(`part:${name}`, "%", (index) => columns.use(index, name), (index) => percent(columns.use(index, name) ?? NaN)),
			]),
			...[...columns.metrics.keys()].map((name) => number(`metric:${name}`, name, (index) => columns.metrics.get(name)[index], (index) => amount(columns.metrics.get(name)[index]))),
			number("age", "Report", (index) => (columns.updatedAt[index] === null ? null : (columns.at - columns.updatedAt[index]) / 1e6), (index) => age(columns.updatedAt[index], columns.at)),
		];
	}

	_rows() {
		this.table.set(this.matches ?? [...Array(this.columns.count).keys()]);
	}

	_save() {
		const indices = this.table ? this.table.shown : this.matches ?? [...Array(this.columns.count).keys()];
		save("hosts.csv", csv(this._tableColumns(), indices));
	}

	/** One host in a sentence. */
	sentence(index) {
		const { columns } = this;
		const uses = [...columns.classes].filter(([, { capacity }]) => capacity[index])
			.map(([name, { capacity, used }]) => `${plain(name)} ${sized(used[index], name)} of ${sized(capacity[index], name)}`);
		return `${plain(columns.name(index))}, ${plain(columns.zones[index])}, ${STATES[columns.states[index]]}, ${uses.join(", ")}`;
	}

	_hover(index, x, y) {
		this.tip.hidden = index < 0;
		this.canvas.classList.toggle("pointing", index >= 0);
		if (index < 0) return;
		const { columns } = this;
		fill(
			this.tip,
			el("b", plain(columns.name(index))),
			el("small", `${plain(columns.zones[index])} · ${STATES[columns.states[index]]} · ${amount(columns.instances[index])} instances · report ${age(columns.updatedAt[index], columns.at)} old`),
			[...columns.classes].filter(([, { capacity }]) => capacity[index]).slice(0, 8).map(([name, { capacity, used }]) =>
				el("div.use", el("span", plain(name)), bar(used[index] / capacity[index], ""), el("span", `${sized(used[index], name)} / ${sized(capacity[index], name)}`))),
		);
		const { clientWidth, clientHeight } = this.stage;
		this.tip.style.left = `${Math.max(0, Math.min(x + 14, clientWidth - this.tip.offsetWidth - 4))}px`;
		this.tip.style.top = `${y + 18 + this.tip.offsetHeight > clientHeight ? Math.max(0, y - this.tip.offsetHeight - 10) : y + 18}px`;
	}

	// ------------------------------------------------------------------- one host

	open(index) {
		const [host, node] = [this.columns.hosts[index], this.columns.nodes[index]];
		change({ host, node: node === host ? "" : node });
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

export const fleetPage = {
	name: "fleet",
	title: "Fleet",
	open: (root) => new FleetView(root),
};
