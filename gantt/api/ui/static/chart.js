// What was used of a class over time, and until when it lasts.

import { el, sign, svg } from "./elements.js";
import { ago } from "./table.js";
import { amount, local, moment, percent } from "./text.js";

const [WIDTH, HEIGHT] = [1000, 160];
// A band that leaves the past less room than this is cut off.
const MOST_AHEAD = 2;

export const minute = (at) => moment(at).slice(0, 16);

/** Its outlook in words, and when each chance ends; null: too far to be told. */
function expected({ at, until, state, lasts_until: lasts, likely_until: likely, latest_until: latest }) {
	const dates = [lasts, likely, latest].map((one) => one && Math.max(one, at));
	const found = ["90 % until ", "50 % until ", "10 % until "].map((chance, place) => chance + (dates[place] ? minute(dates[place]) : `after ${minute(until)}`));
	const told = /forecast|horizon/.test(state) ? found.slice(0, (dates.indexOf(null) + 1) || found.length).join(", ") : state;
	return { told: `room: ${told}`, dates: state === "forecast" ? dates : null };
}

/** `records` of one class, the oldest first; `label`: of what; `outlook`: of the same, with
 * `at`, when it was made, and `until`, how far it reaches. */
export function chart(records, label, outlook) {
	const [first, last] = [records[0], records.at(-1)];
	const end = (one) => one.start + one.period_s * 1e6;
	const { told: ahead, dates } = outlook ? expected(outlook) : {};
	const right = dates ? Math.min(dates[2] ?? outlook.until, end(last) + MOST_AHEAD * (end(last) - first.start)) : end(last);
	const most = Math.max(1, ...records.flatMap((one) => [one.capacity, one.used_max]));
	const x = (at) => ((WIDTH * (at - first.start)) / (right - first.start)).toFixed(1);
	const y = (value) => (HEIGHT * (1 - value / most)).toFixed(1);
	const from = (one, key) => `${x(one.start)},${y(one[key])}H${x(end(one))}`;
	// Periods without a record stay empty.
	const line = (key) => records.map((one, at) => (at && end(records[at - 1]) === one.start ? "L" : "M") + from(one, key)).join("");
	const band = records.map((one) => `M${from(one, "used_max")}V${y(one.used_min)}H${x(one.start)}Z`).join("");
	const told = (one) => `${local(one.start)}: ${amount(one.used_avg)} of ${amount(one.capacity)} used, ${percent(one.used_avg / one.capacity)}`;
	const fullest = records.reduce((one, other) => (other.used_avg / other.capacity > one.used_avg / one.capacity ? other : one));
	const future = () => {
		const [lasts, likely, latest] = dates;
		const to = (at) => `M${x(outlook.at)},${y(last.used_avg)}L${x(at)},${y(last.capacity)}`;
		// Without a last date the band stays open to the right.
		return [svg("path", { class: "ahead", d: `${to(lasts)}H${x(latest ?? outlook.until)}${latest ? "" : `V${y(last.used_avg)}`}Z` }),
			likely && svg("path", { class: "likely", d: to(likely) })];
	};
	return el("figure.chart",
		el("div.ends", { "aria-hidden": "true" }, el("small", amount(most)), el("small", "0")),
		svg("svg", { viewBox: `0 -1 ${WIDTH} ${HEIGHT + 2}`, preserveAspectRatio: "none", role: "img", "aria-label": `${label}. First ${told(first)}. Fullest ${told(fullest)}. Last ${told(last)}.${ahead ? ` Forecast of ${ahead}.` : ""}` },
			svg("path", { class: "band", d: band }), svg("path", { d: line("used_avg") }), svg("path", { class: "most", d: `${line("capacity")}H${x(right)}` }),
			dates && future(),
			records.map((one) => svg("rect", { x: x(one.start), width: x(end(one)) - x(one.start), height: HEIGHT }, svg("title", {}, told(one))))),
		el("div.ends.along", { "aria-hidden": "true" }, el("small", ago(first.start)), el("small", ago(right))),
		el("figcaption.legend", sign("hollow", "used, from least to most"), sign("dashed", `capacity, at most ${amount(most)}`),
			ahead && sign("ahead", ahead)));
}
