// The page Capacity: use over time, by zone, and how many more fit.

import { get, post } from "./api.js";
import { chart, minute } from "./chart.js";
import { Columns, Refresher } from "./columns.js";
import { reasons } from "./decision.js";
import { bar, el, fill, offer, select, toolbar, wrong } from "./elements.js";
import { Poll } from "./poll.js";
import { flavor } from "./request.js";
import { change } from "./router.js";
import { ago, column, compare, hostLink, listed, number, told } from "./table.js";
import { amount, percent, sized, span } from "./text.js";

const POLL_MS = 10000;
const MOST_RECORDS = 400;
const MOST_ROWS = 200;
const LATEST = 6;
const MOST_FLAVORS = 8;
const PERIODS = ["5m", "day", "hour"];
const PARTS = ["aggregate", "fleet", "zone"];
const BLOCKS = "What blocks one more, on how many hosts";
const FLAVORS = "vcpus=1,memory_mb=2048,disk_gb=20 vcpus=4,memory_mb=8192,disk_gb=80";

const sorted = (names) => [...new Set(names)].sort(compare);
const share = (used, capacity) => (capacity > 0 ? Math.round((1000 * used) / capacity) / 10 : null);

export const limitsOf = ({ limits }) => Object.entries(limits).map(([name, hosts]) => `${name} ${amount(hosts)}`).join(", ");
const blocks = (one) => one.wrong ?? limitsOf(one);
const blockers = column(BLOCKS, blocks, (one) => told(blocks(one)));
const more = (key) => number("more", key, (one) => (one.is_lower_bound ? "at least " : "") + amount(one[key]));

/** 3xvcpus=1: the flavor and its weight. */
const weighed = (words) => {
	const [, weight = 1, rest] = /^(?:(\d+)x)?(.*)$/s.exec(words);
	return [rest, +weight];
};

export const where = ({ hosts }) => (hosts ? listed("Where", [column("host", "0", ([host]) => hostLink(host)), number("more", "1")], Object.entries(hosts), MOST_ROWS) : null);

export class CapacityView {
	constructor(root) {
		this.columns = new Columns();
		this.refresher = new Refresher(this.columns, { changed: () => this._zones(), failed: (error) => fill(this.zones, wrong(error)) });
		this.poll = new Poll((signal) => this._ask(signal), (found) => this._draw(...found), (error) => fill(this.history, wrong(error)), POLL_MS);
		this.bar = toolbar();
		this.input = el("input.grow", { spellcheck: "false", on: { change: () => change({ flavors: this.input.value.trim() }) } });
		[this.history, this.zones, this.fits, this.split, this.ahead] = [1, 2, 3, 4, 5].map(() => el("div.part"));
		root.append(el("section.health", this.bar, this.history,
			el("label.controls", "Flavors, as gantt capacity takes them, 3x for a weight", this.input), this.fits, this.split, this.ahead, this.zones));
	}

	close() {
		this.poll.close();
		this.refresher.close();
	}

	update({ class: name = "VCPU", zone = "", period = "hour", by = "fleet", flavors = FLAVORS }) {
		this.by = { name, zone, period: PERIODS.includes(period) ? period : "hour", by: PARTS.includes(by) ? by : "fleet" };
		this.asked = [...new Map(flavors.split(/\s+/).filter(Boolean).map(weighed))].slice(0, MOST_FLAVORS);
		this.input.value = flavors;
		this._zones();
		this.poll.look(true);
	}

	_ask(signal) {
		const { name, zone, period, by } = this.by;
		const part = zone ? "zone" : "fleet";
		this.refresher.look();
		const [specs, weights] = [[], []];
		for (const [words, weight] of this.asked) try { specs.push(this._spec(words)); weights.push(weight); } catch { /* told where it is counted */ }
		const planned = (what, rest) => post(`gantt/capacity/${what}`, { request_specs: specs, by, ...rest }, signal).catch((error) => ({ wrong: error.message }));
		return Promise.all([
			get("gantt/usage-history", { resource_class: name, zone, period, limit: MOST_RECORDS }, signal),
			planned("fair", { weights }), planned("runs-out"), by === part ? null : planned("runs-out", { by: part, request_specs: [] }), ...this.asked.map(([words]) => this._count(words, signal)),
		]);
	}

	_spec(words) {
		return { flavor: flavor(words), availability_zone: this.by.zone || null };
	}

	async _count(words, signal) {
		try {
			return { words, ...await post("gantt/capacity", { request_spec: this._spec(words) }, signal) };
		} catch (error) {
			return { words, wrong: error.message };
		}
	}

	_offer() {
		const { name, zone, period, by } = this.by;
		const { classes, zones } = this.columns;
		const offered = [[name, ...classes.keys()], ["", zone, ...zones], PERIODS, PARTS].map((names) => sorted(names).map((one) => [one, one || "all"]));
		offer(this.bar, [offered, this.by], () => ["class", "zone", "period", "by"].map((key, at) => select(key, offered[at], [name, zone, period, by][at], (one) => change({ [key]: one }))));
	}

	_zones() {
		this._offer();
		const zones = this.by.zone ? [this.by.zone] : sorted(this.columns.zones);
		const rows = zones.flatMap((zone) => [...this.columns.totals(zone)].map(([name, sum]) => ({ zone, name, ...sum })));
		fill(this.zones, listed("Zones now", [
			column("zone"), column("resource_class", "name"),
			...["hosts", "capacity", "used"].map((key) => number(key, key, (one) => (key === "hosts" ? amount(one[key]) : sized(one[key], one.name)))),
			number("percent", (one) => share(one.used, one.capacity), (one) => [percent(one.used / one.capacity), bar(one.used / one.capacity, "used")]),
		], rows, MOST_ROWS));
	}

	_plan({ splits, wrong }, forecast) {
		const rows = splits?.flatMap((one) => one.shares.map((share) => ({ ...share, where: one.name })));
		fill(this.split, wrong ? el("p.note", wrong) : listed("How many fit together, fairly split", [
			column("where"), column("flavor", "flavor", (one) => told(one.flavor)),
			number("weight"), more("more"), number("alone"), blockers,
		], rows, MOST_ROWS));
		const { outlooks, history_s: known, horizon_s: reach } = forecast;
		fill(this.ahead, outlooks ? [
			listed("Until when room lasts", [
				column("where"), column("kind"), column("name", "name", (one) => told(one.name)), number("left", "left", (one) => sized(one.left, one.name)), column("state"),
				...[["90 % until", "lasts_until"], ["50 %", "likely_until"], ["10 %", "latest_until"]].map(([label, key]) => column(label, (one) => minute(one[key]), (one) => ago(one[key]))),
				number("chance", "chance", (one) => percent(one.chance ?? NaN)), column("ends by", "ends_by"),
			], outlooks, MOST_ROWS),
			el("p.none", `There is room until these dates with these chances. Chance: that it runs out within ${span(reach)}. From ${span(known)} of history.`),
		] : el("p.note", forecast.wrong));
	}

	_draw({ usage_history: records }, fair, forecast, own, ...found) {
		this._plan(fair, forecast);
		const { name, zone } = this.by;
		const { outlooks, at, horizon_s: reach } = own ?? forecast;
		const outlook = outlooks?.find((one) => one.kind === "class" && one.name === name && one.where === zone);
		const label = [name, zone, "over time"].filter(Boolean).join(" ");
		const table = listed(label, [
			column("start", (one) => minute(one.start), (one) => ago(one.start)), column("resource_class"),
			...["capacity", "used_min", "used_avg", "used_max"].map((key) => number(key, (one) => Math.round(one[key] * 100) / 100, (one) => sized(one[key], one.resource_class))),
			number("percent", (one) => share(one.used_avg, one.capacity)), number("samples"),
		], records.toReversed(), LATEST);
		if (records.length) table.firstChild.after(chart(records, label, outlook && { ...outlook, at, until: at + reach * 1e6 }));
		fill(this.history, table);
		fill(this.fits, listed("How many more fit now", [
			column("flavor", "words", (one) => told(one.words)),
			more("total"),
			number("hosts", (one) => one.hosts && Object.keys(one.hosts).length),
			blockers,
		], found), found.filter((one) => one.hosts).map((one) =>
			el("details", el("summary", one.words), where(one), reasons(one, one.total))));
	}
}
