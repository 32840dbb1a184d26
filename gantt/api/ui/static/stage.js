// The map with its tip and legend; groups and colours.

import { Columns, Refresher, STATES } from "./columns.js";
import { el, fill, say, sign } from "./elements.js";
import { live } from "./live.js";
import { HostMap } from "./map.js";
import { OVER, STEPS, palette, step } from "./scale.js";
import { use } from "./table.js";
import { age, amount, percent, short, sized } from "./text.js";
import { isDark, theme } from "./theme.js";

/** What colours hosts: { label, value(index), least, most, text(value) }. */
export function measure(columns, by) {
	const [kind, name] = [by.slice(0, by.indexOf(":")), by.slice(by.indexOf(":") + 1)];
	const part = { least: 0, most: 1, text: percent };
	if (by === "fullest") return { ...part, label: "Fullest class", value: (index) => columns.fullest(index)?.part, sum: (members) => fullestOf(columns.sums(members)) };
	if (kind === "use") return { ...part, label: `${name} used`, value: (index) => columns.use(index, name), sum: (members) => shareOf(name, columns.sums(members)) };
	if (by === "age:report") {
		const value = (index) => columns.age(index) && columns.age(index) / 60;
		return { label: "Minutes since the last report", value, ...range(columns, value, 1), text: amount };
	}
	const column = by === "count:instances" ? columns.instances : columns.metrics.get(name) ?? [];
	const value = (index) => column[index];
	return { label: by === "count:instances" ? "Instances" : name, value, ...range(columns, value), text: amount };
}

function shareOf(name, sums) {
	const { used = 0, capacity = 0 } = sums.get(name) ?? {};
	return capacity ? `${name} ${Math.round((100 * used) / capacity)} %` : "";
}

function fullestOf(sums) {
	const some = [...sums].filter(([, { capacity }]) => capacity > 0).sort(([, one], [, two]) => two.used / two.capacity - one.used / one.capacity);
	return some.length ? shareOf(some[0][0], sums) : "";
}

export function range(columns, value, floor = 0) {
	let [least, most] = [0, floor];
	for (let index = 0; index < columns.count; index++) {
		const one = value(index);
		if (one > most) most = one;
		if (one < least) least = one;
	}
	return { least, most: most || 1 };
}

export function grouped(columns, by) {
	const members = new Map();
	const put = (name, index) => {
		if (!members.has(name)) members.set(name, []);
		members.get(name).push(index);
	};
	const trait = by.startsWith("trait:") ? by.slice(6) : null;
	for (let index = 0; index < columns.count; index++) {
		if (trait) put(columns.traits[index].includes(trait) ? trait : `not ${trait}`, index);
		else if (by === "aggregate") {
			// Those that are zones have a grouping of their own.
			const names = columns.aggregates[index].map((uuid) => columns.aggregateNames.get(uuid) || uuid);
			put(names.filter((name) => name !== columns.zones[index]).join(" + ") || "no aggregate", index);
		} else if (by === "state") put(STATES[columns.states[index]], index);
		else put(by === "none" ? "all hosts" : columns.zones[index] || "no zone", index);
	}
	const collator = new Intl.Collator(undefined, { numeric: true });
	const names = columns.hosts.map((_, index) => columns.name(index));
	const groups = [...members].map(([name, indices]) => ({ name, members: indices }));
	for (const group of groups) group.members.sort((one, other) => collator.compare(names[one], names[other]));
	return groups.sort((one, other) => collator.compare(one.name, other.name));
}

export class Stage {
	/** `open(host)`: one is chosen, { host, node }; `changed(places)`: as Columns.take says
	 * it; `failed(error)`: of a question; `repaint()`: colours are others. */
	constructor({ open, changed, failed, repaint }) {
		const columns = (this.columns = new Columns());
		this._refresher = new Refresher(columns, { changed, failed });
		this.look = () => this._refresher.look();
		this._repaint = repaint;
		live.addEventListener("tick", this.look);
		theme.addEventListener("change", repaint);
		this.canvas = el("canvas", {
			tabindex: "0", role: "application", "aria-roledescription": "map of hosts",
			"aria-label": "Map of hosts. Arrow keys move, Enter opens a host, plus and minus zoom, 0 shows all.",
		});
		this.tip = el("div.tip", { hidden: true });
		this.legend = el("div.legend");
		this.root = el("div.stage", this.canvas, this.tip);
		this.map = new HostMap(this.canvas, {
			name: (index) => columns.name(index),
			figure: (index) => this._figure(index),
			total: (members) => this.measure?.sum?.(members) ?? "",
			pick: (index) => say(this.sentence(index)),
			open: (index) => open(columns.address(index)),
			hover: (index, x, y) => this._hover(index, x, y),
		});
	}

	close() {
		live.removeEventListener("tick", this.look);
		theme.removeEventListener("change", this._repaint);
		this._refresher.close();
		this.map.close();
	}

	group(by) {
		this.map.setGroups(grouped(this.columns, by), this.columns.count);
	}

	/** Colour all hosts by `measure`; `sizeOf(index)`: the side of a cell, 0..1. */
	style(measure, sizeOf = () => 1) {
		const { count } = this.columns;
		[this.measure, this._sizeOf] = [measure, sizeOf];
		if (this.map.steps.length !== count) {
			this.map.steps = new Uint8Array(count);
			this.map.sizes = new Float32Array(count);
		}
		this.styleOf(Array(count).keys());
		this.map.states = this.columns.states;
		this.map.restyle();
	}

	styleOf(indices) {
		const { least, most, value } = this.measure;
		for (const index of indices) {
			this.map.steps[index] = step(value(index), least, most);
			this.map.sizes[index] = this._sizeOf(index);
		}
	}

	/** What colours mean; `none`: of hosts without a value. */
	explain(none, ...more) {
		const { least, most, text, label } = this.measure;
		const colours = palette(isDark());
		const steps = Array.from({ length: 24 }, (_, at) => el("i", { style: { background: colours[Math.floor((at * (STEPS - 1)) / 23)] } }));
		const tint = (at, told) => sign("tint", told, { background: colours[at] });
		fill(
			this.legend,
			el("span", label),
			el("span.scale", { "aria-hidden": "true" }, el("small", text(least)), steps, el("small", text(most))),
			most === 1 && text === percent ? tint(OVER, "more than there is") : null,
			sign("dot", none),
			sign("hollow", "disabled"),
			sign("crossed", "down"),
			more,
		);
	}

	_measured(index) {
		const value = this.measure.value(index);
		return `${this.measure.label}: ${value == null ? "–" : this.measure.text(value)}`;
	}

	/** In its tile: a percentage without its sign, or the number. */
	_figure(index) {
		const value = this.measure?.value(index);
		if (value == null) return "";
		return this.measure.text === percent ? String(Math.round(100 * value)) : short(value);
	}

	sentence(index) {
		const { columns } = this;
		const uses = columns.uses(index).map(([name, used, capacity]) => `${name} ${sized(used, name)} of ${sized(capacity, name)}`);
		return [columns.name(index), columns.zones[index], STATES[columns.states[index]], this._measured(index), ...uses].join(", ");
	}

	_hover(index, x, y) {
		this.tip.hidden = index < 0;
		this.canvas.classList.toggle("pointing", index >= 0);
		if (index < 0) return;
		const { columns } = this;
		fill(
			this.tip,
			el("b", columns.name(index)),
			el("small", `${columns.zones[index]} · ${STATES[columns.states[index]]} · ${amount(columns.instances[index])} instances · report ${age(columns.updatedAt[index], columns.at)} old`),
			el("small", this._measured(index)),
			columns.uses(index).slice(0, 8).map((one) => use(...one)),
		);
		const { clientWidth, clientHeight } = this.root;
		this.tip.style.left = `${Math.max(0, Math.min(x + 14, clientWidth - this.tip.offsetWidth - 4))}px`;
		this.tip.style.top = `${y + 18 + this.tip.offsetHeight > clientHeight ? Math.max(0, y - this.tip.offsetHeight - 10) : y + 18}px`;
	}
}
