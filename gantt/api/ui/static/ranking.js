// What a decision says besides its own words, from its filters and scores alone.

const SAME = 1e-9; // less than this apart is rounding

/** The filters that a decision went through; a refusal knows more of them. */
export function stepsOf(decision) {
	return decision.why?.steps?.length ? decision.why.steps : decision.steps;
}

/** The weighers that tell some of the best hosts from others or add to them. */
export function weighersOf(scores) {
	const names = new Set(scores.flatMap((one) => Object.keys(one.parts)));
	return [...names].filter((name) => scores.some((one) => one.parts[name]?.[1]));
}

/** For each weigher: which of `scores` would be first without it, and by how much. Each
 * weigher is normalised by itself, so that its part can be taken away from the sum. */
export function without(scores) {
	if (scores.length < 2) return [];
	return weighersOf(scores).map((weigher) => {
		const rest = scores.map((one) => one.weight - (one.parts[weigher]?.[1] ?? 0));
		let first = 0; // of equals the one that was better stays first
		rest.forEach((weight, at) => { if (weight > rest[first] + SAME) first = at; });
		return { weigher, first: scores[first], isSame: first === 0, ahead: rest[first] - rest[0] };
	});
}

export function outcome(decision) {
	if (decision.takeover) return "takeover";
	if (decision.repair) return "repair";
	return decision.failure === null ? "placed" : "refused";
}

export function hostsOf(decision) {
	if (decision.takeover) return [decision.takeover.new_host];
	if (decision.repair) return decision.repair.host ? [decision.repair.host] : [];
	return [...new Set(decision.chosen.map((mine) => mine[0].service_host))];
}

export function took(decision) {
	return Object.values(decision.timings).reduce((sum, one) => sum + one, 0);
}

/** What the host lacked that was nearest; of a member's own decision that is not told. */
export function lacked({ why }) {
	const near = why?.nearest?.[0];
	return near ? near.lacks ?? `refused by ${near.removed_by.join(", ")}` : null;
}

/** Why it came out so, in a few words: what left no host and what would help, or which
 * weighers made the chosen host the first. */
export function reason(decision) {
	if (outcome(decision) === "refused") {
		const last = stepsOf(decision).find((one) => one.after === 0);
		return [last && `${last.name} left none of ${last.before} hosts`, decision.why?.change && `would help: ${decision.why.change}`]
			.filter(Boolean).join("; ") || decision.failure;
	}
	const made = without(decision.scores).filter((one) => !one.isSame).map((one) => one.weigher);
	return made.length ? `first by ${made.join(", ")}` : null;
}

export const namesOf = ({ instance_uuids: uuids, names = {} }) => uuids.map((uuid) => names[uuid] ?? uuid);
