// NUMA cells and devices of a host, as pictures with words.

import { el } from "./elements.js";
import { use } from "./table.js";
import { amount } from "./text.js";

function kindOf(cell, cpu) {
	return ["claimed", "pinned", "shared"].find((kind) => cell[kind].has(cpu)) ?? "free";
}

function cpus(cell) {
	const sets = {
		claimed: new Set(cell.claimed_cpus),
		pinned: new Set(cell.pinned_cpus),
		shared: new Set(cell.shared_cpus.filter((one) => !cell.pinnable_cpus.includes(one))),
	};
	const all = [...new Set([...cell.shared_cpus, ...cell.pinnable_cpus])].sort((one, other) => one - other);
	const told = `${amount(cell.free_cpus.length)} free, ${amount(cell.pinned_cpus.length)} pinned, ${amount(cell.claimed_cpus.length)} claimed, ${amount(sets.shared.size)} shared`;
	return el("div",
		el("div.cpus", { role: "img", "aria-label": `CPUs: ${told}` }, all.map((cpu) => el("i", { class: kindOf(sets, cpu), title: `CPU ${cpu}: ${kindOf(sets, cpu)}` }))),
		el("small", told));
}

function cellView(cell) {
	const taken = cell.memory_used_mb + cell.memory_claimed_mb;
	return el("div.cell",
		el("h4", `Cell ${cell.id}`, el("small", cell.socket === null ? "" : ` socket ${cell.socket}`)),
		cpus(cell),
		use("memory", taken, cell.memory_mb, "MEMORY_MB"),
		cell.pages.filter((one) => one.total).map((one) => use(`pages ${amount(one.size_kib)} KiB`, one.total - one.free, one.total)),
		cell.physical_networks.length > 0 && el("p.traits", cell.physical_networks.map((one) => el("code", one))));
}

function pool(one) {
	const tags = Object.entries(one.tags).map(([name, value]) => `${name}=${Array.isArray(value) ? value.join(",") : value}`);
	return el("li",
		el("b", `${amount(one.free)} free`), one.claimed ? `, ${amount(one.claimed)} claimed` : "", one.numa_node === null ? "" : `, cell ${one.numa_node}`, " ",
		tags.map((tag) => el("code", tag)),
		one.addresses.length > 0 && el("small", ` ${one.addresses.join(" ")}`));
}

/** `view`: of …/topology; null: nothing to show. */
export function topology(view) {
	if (!view.cells.length && !view.pools?.length) return null;
	return el("section",
		el("h3", "Cells and devices", view.is_closed && el("span.badge.down", "a claim no longer fits")),
		el("div.cells", view.cells.map(cellView)),
		view.pools?.length > 0 && el("ul.pools", view.pools.map(pool)));
}
