// One decision: its funnel, scores and choice, or what would help.

import { bar, el, fill, region, section, terms } from "./elements.js";
import { kept, wanted, worded } from "./request.js";
import { link } from "./router.js";
import { hostsOf, lacked, outcome, reason, stepsOf, took, weighersOf, without } from "./ranking.js";
import { code, column, csvButton, headed, hostLink, hostOf, listed, named, number, small, told } from "./table.js";
import { amount, local, many, moment, span } from "./text.js";

const MOST_NAMED = 3;
const MOST_SCORES = 50;

const milliseconds = (seconds) => `${amount(seconds * 1000)} ms`;
const score = (number) => (Math.round(number * 1e4) / 1e4).toString();

const some = (title, columns, rows) => rows.length > 0 && listed(title, columns, rows);

function level(all, before, after) {
	const width = (part) => ({ width: `${all ? (100 * part) / all : 0}%` });
	return el("span.level", { "aria-hidden": "true" }, el("span.lost", { style: width(before) }), el("span.left", { style: width(after) }));
}

function funnel(decision) {
	const steps = stepsOf(decision);
	if (!steps.length) return null;
	const all = Math.max(decision.hosts ?? 0, steps[0].before);
	const rows = [{ name: "hosts", before: all, after: all, removed_alone: null }, ...steps];
	const dash = (number) => (number ? amount(number) : "–");
	const columns = [
		column("Filter", "name", (one) => (one === rows[0] ? el("b", "all hosts") : one.name)),
		column("Before", "before", (one) => level(all, one.before, one.after)),
		number("Left", "after", (one) => amount(one.after)),
		number("Removed", (one) => one.before - one.after, (one) => dash(one.before - one.after)),
		number("Alone", "removed_alone", (one) => el("b", dash(one.removed_alone))),
	];
	const table = small(columns, rows, "Filters, in order");
	table.classList.add("funnel");
	table.querySelectorAll("tbody tr").forEach((row, at) => row.classList.toggle("idle", at > 0 && rows[at].before === rows[at].after));
	return section(["Filters ", el("small", `${amount(all)} → ${amount(steps.at(-1).after)} hosts`), csvButton("filters", columns, () => rows.slice(1))],
		region("div.wide", "Filters", table),
		el("p.none", alone(steps)));
}

function alone(steps) {
	const most = steps.filter((one) => one.removed_alone).sort((one, other) => other.removed_alone - one.removed_alone);
	if (!most.length) return "No filter alone removed a host.";
	const told = most.slice(0, MOST_NAMED).map((one) => `${one.name} ${amount(one.removed_alone)}`);
	return `Hosts that every other filter let pass: ${told.join(", ")}.`;
}

function scores(decision) {
	const rows = decision.scores.map((one, at) => ({ ...one, rank: at + 1 }));
	if (!rows.length) return null;
	const taken = new Set(hostsOf(decision));
	const most = Math.max(...rows.slice(0, MOST_SCORES).flatMap((one) => Object.values(one.parts).map((pair) => Math.abs(pair[1]))), 0);
	const columns = [
		number("Rank", "rank"),
		column("Host", "host", (one) => [hostLink(one.host, one.node), taken.has(one.host) && el("span.badge.placed", "chosen")]),
		number("Weight", "weight", (one) => el("b", score(one.weight))),
		...weighersOf(rows).map((name) => number(name, (one) => one.parts[name]?.[1], (one) => part(one.parts[name], name, most))),
	];
	const found = listed("Scores of the best hosts", columns, rows, MOST_SCORES);
	found.append(changes(decision.scores));
	return found;
}

function part(pair, name, most) {
	if (!pair) return "–";
	const told = `${name}: raw ${score(pair[0])}, multiplied ${score(pair[1])}`;
	return el(pair[1] < 0 ? "span.part.minus" : "span.part", { title: told }, score(pair[1]), bar(most ? Math.abs(pair[1]) / most : 0, told));
}

function changes(scored) {
	if (scored.length < 2) return el("p.none", "It was the only host that was left: no weigher made a difference.");
	const found = without(scored);
	const first = scored[0].host;
	if (!found.length) return el("p.none", "No weigher told these hosts apart.");
	const { true: same = [], false: others = [] } = Object.groupBy(found, (one) => one.isSame);
	return el("ul.changes",
		others.map((one) =>
			el("li", "Without ", el("b", one.weigher), ", host ", hostLink(one.first.host, one.first.node), ` would be first (${score(one.ahead)} ahead of ${first}).`)),
		same.length > 0 && el("li.none", `${first} would stay first without ${same.map((one) => one.weigher).join(", or without ")}.`),
		el("li.none", `Among the ${amount(scored.length)} hosts whose scores are recorded, for the first instance.`));
}

function choice(decision) {
	if (!decision.chosen.length) return null;
	const rows = decision.chosen.map(([first, ...others], at) => ({ ...first, others, instance: decision.instance_uuids[at] }));
	const linked = (one) => hostLink(one.service_host, one.nodename);
	return listed("Choice", [
		column("Instance", "instance", (one) => named(one.instance, decision.names)),
		column("Host", "service_host", linked),
		column("Node", "nodename"),
		column("Zone", "availability_zone"),
		column("Claim", "claim", (one) => code(one.claim)),
		number("Report", "age_s", (one) => (one.age_s === null ? "–" : `${span(one.age_s)} old`)),
		column("Alternates", (one) => one.others.map((other) => other.service_host).join(" "), (one) => (one.others.length ? one.others.map((other, at) => [at ? ", " : "", linked(other)]) : "–")),
	], rows);
}

function help({ change, is_truncated: isCut, nearest: near }) {
	const more = isCut
		? `${change ? "A smaller change may also help" : "A change may help"}: the search for it stopped at change_budget of [scheduler], or because of concurrent writes.`
		: !change && near.length > 0 && "No single change of the request would help.";
	return (change || more) && section("Smallest change that helps", change && el("p.help", change), more && el("p.none", more));
}

/** Why some hosts, or with `more` 0 all, take no more. */
export const reasons = (why, more) => [!more && help(why), funnel(why), nearest(why)];

function nearest(why) {
	return some("Nearest hosts", [
		hostOf("Host"),
		column("Removed by", (one) => one.removed_by.join(" "), (one) => told(one.removed_by.join(", "))),
		column("Lacks", "lacks", (one) => told(one.lacks)),
	], why.nearest);
}

function undone({ repair, takeover }) {
	const removed = Object.entries(repair?.allocations ?? {}).flatMap(([uuid, amounts]) => Object.entries(amounts).map(([name, used]) => ({ uuid, name, used })));
	return [
		takeover && section("Takeover", el("p",
			`Host ${takeover.new_host}, node ${takeover.new_node} took over what host ${takeover.host}, node ${takeover.node} had: `
			+ `${many(Object.keys(takeover.allocations).length, "instance")} with allocations, ${many(takeover.claims.length, "claim")}.`)),
		repair && section("Repair", el("p", `${repair.kind}: ${repair.repair}, as ${repair.detail}.`)),
		some("What it removed", [column("Provider", "uuid"), column("Class", "name"), number("Amount", "used")], removed),
	];
}

function facts(decision) {
	const stages = Object.entries(decision.timings).map(([name, seconds]) => `${name} ${milliseconds(seconds)}`);
	const instances = decision.instance_uuids;
	const told = [
		...(decision.request ? wanted(decision.request.request_spec) : []),
		...(lacked(decision) ? [["Lacked", `${lacked(decision)}, on ${decision.why.nearest[0].host}, which was nearest`]] : []),
		...(reason(decision) ? [["Why", reason(decision)]] : []),
		...(decision.request ? [["Asked", worded(decision.request.request_spec).join(" ")]] : []),
		["Request", decision.request_id ? code(decision.request_id) : "without an id"],
		["Time", moment(decision.at), local(decision.at)],
		["Instances", instances.length ? [instances.slice(0, MOST_NAMED).map((one) => [named(one, decision.names), " "]), instances.length > MOST_NAMED ? `and ${amount(instances.length - MOST_NAMED)} more` : ""] : "not named"],
		["Project", decision.project_id === null ? "–" : code(decision.project_id)],
		["Made", `by ${decision.driver} at revision ${decision.revision}, ${many(decision.attempts, "attempt")}`],
		["Took", stages.length ? `${milliseconds(took(decision))}: ${stages.join(", ")}` : "–"],
	];
	return terms(told);
}

export function headline(decision) {
	const hosts = hostsOf(decision);
	const named = hosts.slice(0, MOST_NAMED).join(", ") + (hosts.length > MOST_NAMED ? ` and ${amount(hosts.length - MOST_NAMED)} more` : "");
	switch (outcome(decision)) {
		case "refused": return "No valid host";
		case "takeover": return `Taken over by ${named}`;
		case "repair": return named ? `Repaired on ${named}` : "Repaired";
		default: return named ? `On ${named}` : "Placed";
	}
}

/** Links that try it again as a dry run, changed where that helps. */
function again({ request, why }) {
	if (!request) return el("p.none", "The record does not hold the request: it is too long, or not for this token.");
	const to = (text, given) => el("a.button", { href: link("try", kept(request, given)) }, text);
	return el("p.actions",
		why?.given_up?.length > 0 && to("Try the changed request", why.given_up), to("Try it again", []),
		request.left_out.length > 0 && el("small", `Without what records do not keep: ${request.left_out.join(", ")}.`));
}

/** Show `decision` in `root`; `leave` closes it, null: it stays; `more`: what else is to be
 * said first. */
export function showDecision(root, decision, leave, ...more) {
	const kind = outcome(decision);
	const { why } = decision;
	fill(
		root,
		headed(headline(decision), leave, el(`span.badge.${kind}`, kind),
			decision.is_dry_run && el("span.badge", { title: "nothing was claimed" }, "dry run")),
		decision.failure !== null && el("p.wrong", decision.failure),
		more,
		why && help(why),
		decision.repair || decision.takeover ? null : again(decision),
		facts(decision),
		undone(decision),
		choice(decision),
		funnel(decision),
		scores(decision),
		why && nearest(why),
	);
}
