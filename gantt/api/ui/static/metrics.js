// What /metrics says, read as numbers; and what became of them between two looks.

const LINE = /^(\w+)(?:\{(.*)\})? (\S+)$/;

/** The exposition as name -> [{ labels, value }]; `labels` as they were written. */
export function read(text) {
	const found = new Map();
	for (const line of text.split("\n")) {
		const [, name, labels = "", value] = LINE.exec(line) ?? [];
		if (!name) continue;
		if (!found.has(name)) found.set(name, []);
		found.get(name).push({ labels, value: Number(value) });
	}
	return found;
}

export function total(metrics, name) {
	return metrics.get(name)?.reduce((sum, one) => sum + one.value, 0) ?? null;
}

/** By how much a counter grew since `before`; null where it began anew. */
export function growth(metrics, before, name) {
	const [now, then] = [total(metrics, name), before && total(before, name)];
	return now === null || then == null || now < then ? null : now - then;
}

/** The bound below which `part` of what was measured lies: since `before`, or since the
 * start where there is none or nothing was measured meanwhile. */
export function quantile(metrics, before, name, part) {
	const counts = buckets(metrics, name);
	const old = before ? buckets(before, name) : [];
	const since = counts.map(([bound, count], at) => [bound, count - (old[at]?.[1] ?? 0)]);
	const used = since.at(-1)?.[1] > 0 ? since : counts;
	const all = used.at(-1)?.[1] ?? 0;
	return all > 0 ? used.find(([, count]) => count >= part * all)[0] : null;
}

function buckets(metrics, name) {
	return (metrics.get(`${name}_bucket`) ?? []).map(({ labels, value }) => {
		const bound = /le="([^"]*)"/.exec(labels)?.[1];
		return [bound === "+Inf" ? Infinity : Number(bound), value];
	});
}
