// The fleet as columns: all hosts, then what changed since.

import { get } from "./api.js";

export const STATES = ["enabled", "disabled", "down", "stale"];
// At least so long between two questions, however much happens.
const PAUSE_MS = 250;

const FIELDS = ["rows", "hosts", "nodes", "states", "zones", "aggregates", "traits", "updatedAt", "instances"];

export class Columns {
	constructor() {
		this.place = null;
		this.at = 0;
		this.aggregateNames = new Map();
		this._sets = new Map(); // equal sets are one array: ten thousand hosts hold a handful
		this._empty();
	}

	_empty() {
		this.count = 0;
		for (const name of FIELDS) this[name] = [];
		this.classes = new Map(); // name -> { capacity: [], used: [] }
		this.metrics = new Map(); // name -> []
		this.byRow = new Map();
		this._byName = null;
	}

	name(index) {
		const node = this.nodes[index];
		return node === this.hosts[index] ? node : `${this.hosts[index]}/${node}`;
	}

	address(index) {
		const [host, node] = [this.hosts[index], this.nodes[index]];
		return { host, node: node === host ? "" : node };
	}

	find(host, node = "") {
		node ||= host;
		this._byName ??= new Map(this.hosts.map((one, index) => [`${one}\u0000${this.nodes[index]}`, index]));
		return this._byName.get(`${host}\u0000${node}`);
	}

	/** Seconds since its last report; null: it has sent none. */
	age(index) {
		return this.updatedAt[index] === null ? null : (this.at - this.updatedAt[index]) / 1e6;
	}

	/** The part of a class that is used; null: the host has none of it. */
	use(index, className) {
		const { used, capacity } = this.classes.get(className) ?? {};
		return used?.[index] || capacity?.[index] ? used[index] / capacity[index] : null;
	}

	/** The class of which the largest part is used, and that part; null: it has none. */
	fullest(index) {
		let found = null;
		for (const name of this.classes.keys()) {
			const part = this.use(index, name);
			if (part !== null && !(found?.part >= part)) found = { name, part };
		}
		return found;
	}

	/** The classes that a host has: [name, used, capacity]. */
	uses(index) {
		return [...this.classes].map(([name, { capacity, used }]) => [name, used[index], capacity[index]]).filter((one) => one[2]);
	}

	/** Take in an answer; the changed hosts, or null where all may have. */
	take(answer) {
		this.place = answer.place;
		this.at = answer.at;
		answer.aggregates.names.forEach((uuid, at) => this.aggregateNames.set(uuid, answer.aggregate_names[at]));
		if (answer.is_whole) this._empty();
		const isOther = answer.rows.some((row) => !this.byRow.has(row)) || answer.gone.some((row) => this.byRow.has(row));
		for (const row of answer.gone) this._remove(row);
		const sets = ["aggregates", "traits"].map((key) => this._named(answer[key]));
		const places = answer.rows.map((row) => this._index(row));
		const put = (column, value) => places.forEach((index, at) => { column[index] = value(at); });
		for (const name of ["hosts", "states", "instances"]) put(this[name], (at) => answer[name][at]);
		put(this.nodes, (at) => answer.nodes[at] ?? answer.hosts[at]);
		put(this.zones, (at) => answer.zones[answer.zone[at]]);
		put(this.aggregates, (at) => sets[0][answer.aggregates.of[at]]);
		put(this.traits, (at) => sets[1][answer.traits.of[at]]);
		put(this.updatedAt, (at) => answer.updated_at[at]);
		const filled = (value) => new Array(this.count).fill(value);
		const all = (known, given, make) => {
			for (const name of Object.keys(given)) if (!known.has(name)) known.set(name, make());
			return known;
		};
		for (const [name, column] of all(this.classes, answer.classes, () => ({ capacity: filled(0), used: filled(0) }))) {
			for (const key of ["capacity", "used"]) put(column[key], (at) => answer.classes[name]?.[key][at] ?? 0);
		}
		for (const [name, column] of all(this.metrics, answer.metrics, () => filled(null))) put(column, (at) => answer.metrics[name]?.[at] ?? null);
		if (isOther) this._byName = null;
		return isOther || answer.is_whole ? null : places;
	}

	_named({ names, sets }) {
		return sets.map((one) => {
			const found = one.map((number) => names[number]);
			const key = found.join("\u0000");
			if (!this._sets.has(key)) this._sets.set(key, Object.freeze(found));
			return this._sets.get(key);
		});
	}

	_index(row) {
		let index = this.byRow.get(row);
		if (index === undefined) {
			index = this.count;
			this.count += 1;
			this.byRow.set(row, index);
			this.rows[index] = row;
		}
		return index;
	}

	_remove(row) {
		const index = this.byRow.get(row);
		if (index === undefined) return;
		const last = this.count - 1;
		const classes = [...this.classes.values()].flatMap(Object.values);
		for (const column of [...FIELDS.map((name) => this[name]), ...classes, ...this.metrics.values()]) {
			column[index] = column[last];
			column.pop();
		}
		this.byRow.delete(row);
		if (index !== last) this.byRow.set(this.rows[index], index);
		this.count = last;
	}

	/** Sums over the fleet, or over a zone: class -> { hosts, capacity, used }. */
	totals(zone = null) {
		const all = [...Array(this.count).keys()];
		return this.sums(zone === null ? all : all.filter((index) => this.zones[index] === zone));
	}

	sums(indices) {
		const found = new Map();
		for (const [name, { capacity, used }] of this.classes) {
			const sum = { hosts: 0, capacity: 0, used: 0 };
			for (const index of indices) {
				sum.hosts += capacity[index] > 0;
				sum.capacity += capacity[index];
				sum.used += used[index];
			}
			found.set(name, sum);
		}
		return found;
	}

	stateCounts() {
		const counts = STATES.map(() => 0);
		for (const state of this.states) counts[state] += 1;
		return counts;
	}
}

/** Keeps `columns` up to date: asks when told that something may have changed, one
 * question at a time. */
export class Refresher {
	constructor(columns, { changed, failed }) {
		Object.assign(this, { _columns: columns, _changed: changed, _failed: failed, _stop: new AbortController() });
	}

	close() {
		this._stop.abort();
	}

	async look() {
		this._isWanted = true;
		if (this._isAsking) return;
		this._isAsking = true;
		while (this._isWanted && !this._stop.signal.aborted) {
			this._isWanted = false;
			await this._ask();
			await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
		}
		this._isAsking = false;
	}

	async _ask() {
		try {
			const answer = await get("gantt/fleet", { after: this._columns.place }, this._stop.signal);
			const places = this._columns.take(answer);
			this._changed(places);
		} catch (error) {
			if (error.name !== "AbortError") this._failed(error);
		}
	}
}
