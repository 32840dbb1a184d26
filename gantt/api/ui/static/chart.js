// What was used of a class over time, against its capacity, as a picture.

import { el, svg } from "./elements.js";
import { amount, moment, percent } from "./text.js";

const [WIDTH, HEIGHT] = [1000, 160];

export const minute = (at) => moment(at).slice(0, 16);

/** `records` of one class, the oldest first; `label`: of what. */
export function chart(records, label) {
	const [first, last] = [records[0], records.at(-1)];
	const end = (one) => one.start + one.period_s * 1e6;
	const most = Math.max(1, ...records.flatMap((one) => [one.capacity, one.used_max]));
	const x = (at) => ((WIDTH * (at - first.start)) / (end(last) - first.start)).toFixed(1);
	const y = (value) => (HEIGHT * (1 - value / most)).toFixed(1);
	const from = (one, key) => `${x(one.start)},${y(one[key])}H${x(end(one))}`;
	// Periods without a record stay empty.
	const line = (key) => records.map((one, at) => (at && end(records[at - 1]) === one.start ? "L" : "M") + from(one, key)).join("");
	const band = records.map((one) => `M${from(one, "used_max")}V${y(one.used_min)}H${x(one.start)}Z`).join("");
	const told = (one) => `${minute(one.start)}: ${amount(one.used_avg)} of ${amount(one.capacity)} used, ${percent(one.used_avg / one.capacity)}`;
	const fullest = records.reduce((one, other) => (other.used_avg / other.capacity > one.used_avg / one.capacity ? other : one));
	const key = (name, text) => el("span", el("i", { class: `key ${name}` }), text);
	return el("figure.chart",
		svg("svg", { viewBox: `0 -1 ${WIDTH} ${HEIGHT + 2}`, preserveAspectRatio: "none", role: "img", "aria-label": `${label}. First ${told(first)}. Fullest ${told(fullest)}. Last ${told(last)}.` },
			svg("path", { class: "band", d: band }), svg("path", { d: line("used_avg") }), svg("path", { class: "most", d: line("capacity") }),
			records.map((one) => svg("rect", { x: x(one.start), width: x(end(one)) - x(one.start), height: HEIGHT }, svg("title", {}, told(one))))),
		el("figcaption.legend", minute(first.start), key("hollow", "used, from least to most"), key("dashed", `capacity, at most ${amount(most)}`), el("span.found", minute(end(last)))));
}
