// One decision: its funnel of filters, the scores of the best hosts, and the choice; or
// what was refused, how near it came, and what would help.

import { code, column, headed, hostLink, number, told } from "./cells.js";
import { bar, el, fill } from "./elements.js";
import { hostsOf, outcome, stepsOf, took, weighersOf, without } from "./ranking.js";
import { csvButton, listed, small } from "./table.js";
import { amount, moment, plain, span } from "./text.js";

const MOST_NAMED = 3;

const counted = (number, one, many = `${one}s`) => `${amount(number)} ${number === 1 ? one : many}`;
const milliseconds = (seconds) => `${amount(seconds * 1000)} ms`;
const score = (number) => (Math.round(number * 1e4) / 1e4).toString();

function section(title, ...inside) {
	return el("section", {}, el("h3", {}, title), inside);
}

// ------------------------------------------------------------------------- the funnel

/** So many of all hosts, as a centred bar; those that are lost here are hatched. */
function level(all, before, after) {
	const width = (part) => ({ width: `${all ? (100 * part) / all : 0}%` });
	return el("span", { class: "level", "aria-hidden": "true" }, el("span", { class: "lost", style: width(before) }), el("span", { class: "left", style: width(after) }));
}

function funnel(decision) {
	const steps = stepsOf(decision);
	if (!steps.length) return null;
	const all = Math.max(decision.hosts ?? 0, steps[0].before);
	const rows = [{ name: "hosts", before: all, after: all, removed_alone: null }, ...steps];
	const columns = [
		column("Filter", "name", (one) => (one === rows[0] ? el("b", {}, "all hosts") : plain(one.name))),
		number("Before", "before"),
		number("Removed", (one) => one.before - one.after),
		number("Left", "after"),
		number("Removed alone", "removed_alone"),
	];
	const drawn = [
		columns[0],
		column("", () => "", (one) => level(all, one.before, one.after)),
		{ label: "Left", isNumber: true, show: (one) => amount(one.after) },
		{ label: "Removed", isNumber: true, show: (one) => (one.before > one.after ? amount(one.before - one.after) : "–") },
		{ label: "Alone", isNumber: true, show: (one) => (one.removed_alone ? el("b", {}, amount(one.removed_alone)) : "–") },
	];
	const table = small(drawn, rows, "Filters, in order");
	table.classList.add("funnel");
	table.querySelectorAll("tbody tr").forEach((row, at) => row.classList.toggle("idle", at > 0 && rows[at].before === rows[at].after));
	return el("section", {},
		el("h3", {}, "Filters ", el("small", {}, `${amount(all)} → ${amount(steps.at(-1).after)} hosts`), csvButton("filters.csv", columns, () => rows.slice(1))),
		el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Filters" }, table),
		el("p", { class: "none" }, alone(steps)));
}

/** What the filters removed that no other would have. */
function alone(steps) {
	const most = steps.filter((one) => one.removed_alone).sort((one, other) => other.removed_alone - one.removed_alone);
	if (!most.length) return "No filter alone removed a host.";
	const told = most.slice(0, MOST_NAMED).map((one) => `${plain(one.name)} ${amount(one.removed_alone)}`);
	return `Hosts that every other filter let pass: ${told.join(", ")}.`;
}

// ------------------------------------------------------------------------- the scores

function scores(decision) {
	const rows = decision.scores.map((one, at) => ({ ...one, rank: at + 1 }));
	if (!rows.length) return null;
	const taken = new Set(hostsOf(decision));
	const most = Math.max(...rows.flatMap((one) => Object.values(one.parts).map((pair) => Math.abs(pair[1]))), 0);
	const columns = [
		number("Rank", "rank"),
		column("Host", "host", (one) => [hostLink(one.host, one.node), taken.has(one.host) ? el("span", { class: "badge placed" }, "chosen") : null]),
		number("Weight", "weight", (one) => el("b", {}, score(one.weight))),
		...weighersOf(rows).map((name) => ({
			label: name, value: (one) => one.parts[name]?.[1] ?? null, isNumber: true,
			show: (one) => part(one.parts[name], name, most),
		})),
	];
	const found = listed("Scores of the best hosts", "scores.csv", columns, rows);
	found.append(changes(decision.scores));
	return found;
}

function part(pair, name, most) {
	if (!pair) return "–";
	const told = `${plain(name)}: raw ${score(pair[0])}, multiplied ${score(pair[1])}`;
	return el("span", { class: pair[1] < 0 ? "part minus" : "part", title: told }, score(pair[1]), bar(most ? Math.abs(pair[1]) / most : 0, told));
}

/** Which weighers made the difference. */
function changes(scored) {
	if (scored.length < 2) return el("p", { class: "none" }, "It was the only host that was left: no weigher made a difference.");
	const found = without(scored);
	const first = plain(scored[0].host);
	if (!found.length) return el("p", { class: "none" }, "No weigher told these hosts apart.");
	const same = found.filter((one) => one.isSame).map((one) => plain(one.weigher));
	return el("ul", { class: "changes" },
		found.filter((one) => !one.isSame).map((one) =>
			el("li", {}, "Without ", el("b", {}, plain(one.weigher)), ", host ", hostLink(one.first.host, one.first.node), ` would be first (${score(one.ahead)} ahead of ${first}).`)),
		same.length ? el("li", { class: "none" }, `${first} would stay first without ${same.join(", or without ")}.`) : null,
		el("li", { class: "none" }, `Among the ${amount(scored.length)} hosts whose scores are recorded, for the first instance.`));
}

// ------------------------------------------------------------------------- the outcome

function choice(decision) {
	if (!decision.chosen.length) return null;
	const rows = decision.chosen.map((mine, at) => ({ first: mine[0], others: mine.slice(1), instance: decision.instance_uuids[at] ?? "" }));
	const columns = [
		column("Instance", "instance", (one) => code(one.instance)),
		column("Host", (one) => one.first.service_host, (one) => hostLink(one.first.service_host, one.first.nodename)),
		column("Node", (one) => one.first.nodename),
		column("Zone", (one) => one.first.availability_zone),
		column("Claim", (one) => one.first.claim, (one) => code(one.first.claim)),
		number("Report", (one) => one.first.age_s, (one) => (one.first.age_s === null ? "–" : `${span(one.first.age_s)} old`)),
		column("Alternates", (one) => one.others.map((other) => other.service_host).join(" "), (one) => (one.others.length ? one.others.map((other, at) => [at ? ", " : "", hostLink(other.service_host, other.nodename)]) : "–")),
	];
	return listed("Choice", "choice.csv", columns, rows);
}

/** The smallest change with which a refused request would have had hosts. */
function help(why) {
	const more = why.is_truncated
		? `${why.change ? "A smaller change may also help" : "A change may help"}: the search for it stopped at change_budget of [scheduler], or because of concurrent writes.`
		: null;
	if (!why.change && !more) return null;
	return section("Smallest change that helps", why.change ? el("p", { class: "help" }, plain(why.change)) : null, more ? el("p", { class: "none" }, more) : null);
}

/** What refused hosts, and what would help. */
export const reasons = (why) => [help(why), funnel(why), misses(why), nearest(why)];

function misses(why) {
	const found = why.books?.misses ?? [];
	const rows = found.map((one) => ({ name: one.lacks[0]?.provider_name ?? one.tree, lacks: one.lacks.map((lack) => lack.text).join("; ") }));
	if (!rows.length) return null;
	return listed("Nearest misses in the resource providers", "misses.csv", [
		column("Provider", "name"),
		column("Lacks", "lacks", (one) => told(one.lacks)),
	], rows);
}

function nearest(why) {
	if (!why.nearest.length) return null;
	return listed("Nearest hosts", "nearest.csv", [
		column("Host", "host", (one) => hostLink(one.host, one.node)),
		column("Removed by", (one) => one.removed_by.join(" "), (one) => el("span", { class: "told" }, one.removed_by.map(plain).join(", "))),
		column("Lacks", "lacks", (one) => told(one.lacks)),
	], why.nearest);
}

function undone({ repair, takeover }) {
	const found = [];
	if (takeover) {
		found.push(section("Takeover", el("p", {},
			`Host ${plain(takeover.new_host)}, node ${plain(takeover.new_node)} took over what host ${plain(takeover.host)}, node ${plain(takeover.node)} had: `
			+ `${counted(Object.keys(takeover.allocations).length, "instance")} with allocations, ${counted(takeover.claims.length, "claim")}.`)));
	}
	if (repair) {
		const rows = Object.entries(repair.allocations).flatMap(([uuid, amounts]) => Object.entries(amounts).map(([name, used]) => ({ uuid, name, used })));
		found.push(section("Repair", el("p", {}, `${plain(repair.kind)}: ${plain(repair.repair)}, as ${plain(repair.detail)}.`)));
		if (rows.length) {
			found.push(listed("What it removed", "removed.csv", [
				column("Provider", "uuid"),
				column("Class", "name"),
				number("Amount", "used"),
			], rows));
		}
	}
	return found;
}

function facts(decision) {
	const stages = Object.entries(decision.timings).map(([name, seconds]) => `${plain(name)} ${milliseconds(seconds)}`);
	const instances = decision.instance_uuids;
	const told = [
		["Request", decision.request_id ? code(decision.request_id) : "without an id"],
		["Time", moment(decision.at)],
		["Instances", instances.length ? [instances.slice(0, MOST_NAMED).map((one) => [code(one), " "]), instances.length > MOST_NAMED ? `and ${amount(instances.length - MOST_NAMED)} more` : ""] : "not named"],
		["Project", decision.project_id === null ? "–" : code(decision.project_id)],
		["Made", `by ${plain(decision.driver)} at revision ${decision.revision}, ${counted(decision.attempts, "attempt")}`],
		["Took", stages.length ? `${milliseconds(took(decision))}: ${stages.join(", ")}` : "–"],
	];
	return el("dl", {}, told.map(([name, text]) => [el("dt", {}, name), el("dd", {}, text)]));
}

/** What became of it in a few words. */
export function headline(decision) {
	const hosts = hostsOf(decision);
	const named = hosts.slice(0, MOST_NAMED).map(plain).join(", ") + (hosts.length > MOST_NAMED ? ` and ${amount(hosts.length - MOST_NAMED)} more` : "");
	switch (outcome(decision)) {
		case "refused": return "No valid host";
		case "takeover": return `Taken over by ${named}`;
		case "repair": return named ? `Repaired on ${named}` : "Repaired";
		default: return named ? `On ${named}` : "Placed";
	}
}

/** Show `decision` in `root`; `leave` closes it. */
export function showDecision(root, decision, leave) {
	const kind = outcome(decision);
	const { why } = decision;
	fill(
		root,
		headed(headline(decision), leave, el("span", { class: `badge ${kind}` }, kind),
			decision.is_dry_run ? el("span", { class: "badge", title: "nothing was claimed" }, "dry run") : null),
		decision.failure === null ? null : el("p", { class: "wrong" }, plain(decision.failure)),
		why ? help(why) : null,
		facts(decision),
		undone(decision),
		choice(decision),
		funnel(decision),
		scores(decision),
		why ? [misses(why), nearest(why)] : null,
	);
}
