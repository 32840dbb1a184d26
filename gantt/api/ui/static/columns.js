// The fleet as columns: one answer has all hosts, later ones what changed since.

import { get } from "./api.js";

export const STATES = ["enabled", "disabled", "down", "stale"];
const NOTHING = Object.freeze([]);
// At least so long between two questions, however much happens.
const PAUSE_MS = 250;

/** Equal sets are one array, so that a fleet of ten thousand holds a handful. */
class Interned {
	constructor() {
		this._known = new Map();
	}

	of(names) {
		if (!names.length) return NOTHING;
		const key = names.join("\u0000");
		if (!this._known.has(key)) this._known.set(key, Object.freeze(names));
		return this._known.get(key);
	}
}

export class Columns extends EventTarget {
	constructor() {
		super();
		this.place = null;
		this.at = 0;
		this.aggregateNames = new Map();
		this._sets = new Interned();
		this._empty();
	}

	_empty() {
		this.count = 0;
		this.rows = [];
		this.hosts = [];
		this.nodes = [];
		this.states = [];
		this.zones = [];
		this.aggregates = [];
		this.traits = [];
		this.updatedAt = [];
		this.instances = [];
		this.classes = new Map(); // name -> { capacity: [], used: [] }
		this.metrics = new Map(); // name -> []
		this.byRow = new Map();
		this._byName = null;
	}

	name(index) {
		const node = this.nodes[index];
		return node === this.hosts[index] ? node : `${this.hosts[index]}/${node}`;
	}

	find(host, node) {
		this._byName ??= new Map(this.hosts.map((one, index) => [`${one}\u0000${this.nodes[index]}`, index]));
		return this._byName.get(`${host}\u0000${node}`);
	}

	/** The part of a class that is used; null: the host has none of it. */
	use(index, className) {
		const column = this.classes.get(className);
		const capacity = column?.capacity[index];
		if (!capacity) return column?.used[index] ? Infinity : null;
		return column.used[index] / capacity;
	}

	/** Take in an answer; the changed hosts, or null where all may have. */
	take(answer) {
		this.place = answer.place;
		this.at = answer.at;
		answer.aggregates.names.forEach((uuid, at) => this.aggregateNames.set(uuid, answer.aggregate_names[at]));
		if (answer.is_whole) this._empty();
		const isOther = answer.rows.some((row) => !this.byRow.has(row)) || answer.gone.some((row) => this.byRow.has(row));
		for (const row of answer.gone) this._remove(row);
		const aggregates = this._named(answer.aggregates);
		const traits = this._named(answer.traits);
		const places = answer.rows.map((row) => this._index(row));
		places.forEach((index, at) => {
			this.hosts[index] = answer.hosts[at];
			this.nodes[index] = answer.nodes[at] ?? answer.hosts[at];
			this.states[index] = answer.states[at];
			this.zones[index] = answer.zones[answer.zone[at]];
			this.aggregates[index] = aggregates[answer.aggregates.of[at]];
			this.traits[index] = traits[answer.traits.of[at]];
			this.updatedAt[index] = answer.updated_at[at];
			this.instances[index] = answer.instances[at];
		});
		this._classes(answer, places);
		this._metrics(answer, places);
		if (isOther) this._byName = null;
		return isOther || answer.is_whole ? null : places;
	}

	_named(sets) {
		return sets.sets.map((one) => this._sets.of(one.map((number) => sets.names[number])));
	}

	_index(row) {
		let index = this.byRow.get(row);
		if (index === undefined) {
			index = this.count;
			this.count += 1;
			this.byRow.set(row, index);
			this.rows[index] = row;
			for (const { capacity, used } of this.classes.values()) capacity[index] = used[index] = 0;
			for (const values of this.metrics.values()) values[index] = null;
		}
		return index;
	}

	/** The last host takes the place of the one that is gone. */
	_remove(row) {
		const index = this.byRow.get(row);
		if (index === undefined) return;
		const last = this.count - 1;
		for (const column of this._all()) {
			column[index] = column[last];
			column.pop();
		}
		this.byRow.delete(row);
		if (index !== last) this.byRow.set(this.rows[index], index);
		this.count = last;
	}

	_all() {
		const found = [this.rows, this.hosts, this.nodes, this.states, this.zones, this.aggregates, this.traits, this.updatedAt, this.instances];
		for (const { capacity, used } of this.classes.values()) found.push(capacity, used);
		found.push(...this.metrics.values());
		return found;
	}

	_classes(answer, places) {
		for (const name of new Set([...this.classes.keys(), ...Object.keys(answer.classes)])) {
			if (!this.classes.has(name)) {
				this.classes.set(name, { capacity: new Array(this.count).fill(0), used: new Array(this.count).fill(0) });
			}
			const mine = this.classes.get(name);
			const theirs = answer.classes[name];
			places.forEach((index, at) => {
				mine.capacity[index] = theirs ? theirs.capacity[at] : 0;
				mine.used[index] = theirs ? theirs.used[at] : 0;
			});
		}
	}

	_metrics(answer, places) {
		for (const name of new Set([...this.metrics.keys(), ...Object.keys(answer.metrics)])) {
			if (!this.metrics.has(name)) this.metrics.set(name, new Array(this.count).fill(null));
			const mine = this.metrics.get(name);
			places.forEach((index, at) => {
				mine[index] = answer.metrics[name]?.[at] ?? null;
			});
		}
	}

	/** Sums over the fleet, or over a zone: class -> { hosts, capacity, used }. */
	totals(zone = null) {
		const found = new Map();
		for (const [name, { capacity, used }] of this.classes) {
			const sum = { hosts: 0, capacity: 0, used: 0 };
			for (let index = 0; index < this.count; index += 1) {
				if (zone !== null && this.zones[index] !== zone) continue;
				sum.hosts += capacity[index] > 0;
				sum.capacity += capacity[index];
				sum.used += used[index];
			}
			found.set(name, sum);
		}
		return found;
	}

	/** How many hosts are in each state. */
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
		this._columns = columns;
		this._changed = changed;
		this._failed = failed;
		this._stop = new AbortController();
		this._isAsking = false;
		this._isWanted = false;
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
