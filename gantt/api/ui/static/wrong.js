// What is wrong, as links to where it is told; and what changed in the last hour.

import { get, post, probe } from "./api.js";
import { el, fill } from "./elements.js";
import { Poll } from "./poll.js";
import { link } from "./router.js";
import { ago, column, hostOf, listed, number, told } from "./table.js";
import { age, amount, many, percent, span } from "./text.js";

const LOOK_MS = 15000;
const SELDOM_MS = 300000; // what looks at everything
const FORECAST_MS = 1800000; // from the usage of hours
const AUDIT_S = 60; // how old an audit may be: all who look share one
const FULL = 0.95;
const SOON_S = 14 * 86400;
const FEW = 3; // hosts in one state that are named each
const MOST_FULL = 6;
const MEANT = "disabled"; // by somebody
const KINDS = {
	no_workload: "allocations without an instance", host_gone: "allocations on hosts that are gone", no_claim: "instances without a claim",
	inventory_drift: "inventories unlike the reports", claim_changed: "changed claims",
};

const since = (one, at) => (one.since === null ? "" : ` for ${age(one.since, at)}`);
const left = (until, at) => span(Math.max(0, until - at) / 1e6);
const item = (text, page, params = {}, isBad = true) => ({ text, to: link(page, params), isBad });

function hosts({ out, states, at }) {
	const named = (one) => item(`${one.host} is ${one.state}${since(one, at)}, ${one.by}${one.reason && `: ${one.reason}`}; ${many(one.instances, "instance")}`, "fleet", { host: one.host, node: one.node }, one.state !== MEANT);
	return states.flatMap((one) => (one.hosts <= FEW
		? out.filter((host) => host.state === one.state).map(named)
		: [item(`${many(one.hosts, "host")} are ${one.state}, the first, ${one.first}${since(one, at)}; ${many(one.instances, "instance")} on them`, "health", {}, one.state !== MEANT)]));
}

function refusals({ refusals: some, refused, placed }) {
	if (!refused) return [];
	const [first] = some;
	return [item(`${amount(refused)} of ${many(refused + placed, "request")} refused within the hour, ${amount(first.count)} for ${first.reason}`,
		"decisions", { show: "refused", request: first.request_id, at: first.at })];
}

/** Classes of which hardly anything is left, in all or in a zone. */
export function full(columns) {
	const found = [];
	for (const zone of new Set([null, ...columns.zones])) {
		for (const [name, { used, capacity }] of columns.totals(zone)) {
			if (capacity && used / capacity >= FULL && !found.some((one) => one.name === name)) found.push({ name, zone: zone ?? "", part: used / capacity });
		}
	}
	return found.slice(0, MOST_FULL);
}

const fullness = ({ name, zone, part }) => item(`${name} is full${zone && ` in ${zone}`}: ${percent(part)} used`, "capacity", { class: name, zone });

const endings = ({ outlooks, at }, gone) => outlooks
	.filter((one) => one.kind === "class" && one.lasts_until && one.lasts_until - at < SOON_S * 1e6 && !gone.includes(one.name))
	.map((one) => item(`${one.name} runs out in ${left(one.lasts_until, at)} with a chance of 10 %${one.likely_until ? `, in ${left(one.likely_until, at)} with one of 50 %` : ""}`, "capacity", { class: one.name }, false));

/** Of how many hosts it is not known what runs, by why. */
export const silences = (silent) => Object.entries(silent).map(([why, count]) => `, ${amount(count)} ${why.replace("_", " ")}`).join("");

function audited({ counts, hosts: count, listing, silent }) {
	const found = Object.entries(counts).map(([kind, number]) => item(`The audit found ${amount(number)} × ${KINDS[kind] ?? kind}`, "health"));
	if (listing < count) found.push(item(`The audit compared ${amount(listing)} of ${many(count, "host")}: ${silences(silent).slice(2)}`, "health", {}, false));
	return found;
}

/** Without what this token may not ask. */
const perhaps = (asked) => asked.catch((error) => (error.name === "AbortError" ? Promise.reject(error) : null));

export class Wrong {
	constructor(columns) {
		this.root = el("div.wrongs", { "aria-label": "What is wrong", role: "group" });
		this._columns = columns;
		const poll = (name, every, ask) => new Poll((signal) => Promise.all(ask(signal)), (found) => { this[name] = found; this.draw(); }, () => {}, every);
		this._polls = [
			poll("_now", LOOK_MS, (signal) => [perhaps(get("gantt/recent", {}, signal)), probe("readyz", signal)]),
			poll("_audited", SELDOM_MS, (signal) => [perhaps(get("gantt/audit", { limit: 1, max_age_s: AUDIT_S }, signal))]),
			poll("_foreseen", FORECAST_MS, (signal) => [perhaps(post("gantt/capacity/runs-out", { request_specs: [] }, signal))]),
		];
	}

	look() {
		for (const one of this._polls) one.look();
	}

	close() {
		for (const one of this._polls) one.close();
	}

	draw() {
		const [recent, ready] = this._now ?? [];
		const [[audit], [forecast]] = [this._audited ?? [], this._foreseen ?? []];
		const empty = full(this._columns);
		const notice = ready?.replace(/^OK:? ?/, "").trim();
		const items = [
			notice && item(`The service: ${notice}`, "health"),
			...(recent ? hosts(recent) : []), ...empty.map(fullness), ...(recent ? refusals(recent) : []),
			...(audit ? audited(audit) : []), ...(forecast?.outlooks ? endings(forecast, empty.map((one) => one.name)) : []),
		].filter(Boolean);
		const shown = JSON.stringify([items, recent && [recent.changed, recent.refused, recent.placed]]);
		if (shown === this._shown) return;
		this._shown = shown;
		fill(this.root,
			items.length > 0 && el("ul", items.map(({ text, to, isBad }) => el("li", el(isBad ? "a.bad" : "a", { href: to }, text)))),
			recent && audit && this._foreseen && !items.length && el("p.none", "Nothing is wrong that is known here."),
			recent && el("a.quiet", { href: link("health") }, `Within the hour: ${[many(recent.changed, "change"), `${amount(recent.placed)} placed`, `${amount(recent.refused)} refused`].join(", ")}`));
	}
}

export const outTable = ({ out }, title) => listed(title, [
	hostOf("Host"),
	column("State", "state", (one) => el(`span.badge.${one.state}`, one.state)),
	column("Since", "since", (one) => ago(one.since)),
	column("By", "by", (one) => told(one.by)), column("Reason", "reason", (one) => told(one.reason || "–")),
	number("Instances", "instances", (one) => amount(one.instances)),
], out);

/** What changed within the hour: the fleet, refusals by reason, policy and versions. */
export function changeTables(recent) {
	const { changes, refusals: some, seen_since: seen, since: from } = recent;
	const versions = Object.entries(recent.versions).map(([version, count]) => `${version || "untold"} on ${amount(count)}`).join(", ");
	return [
		listed("Changed within the hour", [
			column("When", "at", (one) => ago(one.at)), column("What", "what"), column("Name", "name", (one) => told(one.name)),
			column("Now", "now", (one) => told(`${one.is_new ? "new: " : ""}${one.now}`)),
		], changes),
		listed("Refused within the hour, by reason", [
			column("Reason", "reason", (one) => told(one.reason)), number("Requests", "count"),
			column("Latest", "at", (one) => el("a", { href: link("decisions", { show: "refused", request: one.request_id, at: one.at }) }, ago(one.at))),
		], some),
		el("p.none", `${amount(recent.placed)} placed, ${amount(recent.refused)} refused`, seen > from && [", counted since ", ago(seen), ": there were more"],
			". This process decides by these since ", ago(recent.policy_since), `, when it began or took other options over: ${recent.filters.join(", ")}. `,
			`Gantt ${recent.version}; nova-compute ${versions || "none"}.`),
	];
}
