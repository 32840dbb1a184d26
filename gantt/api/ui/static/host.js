// One host: what it reports, its tree of providers, its instances, claims and cells.

import { get } from "./api.js";
import { STATES } from "./columns.js";
import { el, fill, loading, section, terms } from "./elements.js";
import { ago, code, column, headed, listed, named, number, use } from "./table.js";
import { age, amount, local, moment, sized } from "./text.js";

const PAUSE_MS = 500;

function classes(inventories) {
	return Object.entries(inventories).map(([name, one]) => {
		const found = use(name, one.used, one.capacity);
		found.title = `total ${amount(one.total)}, reserved ${amount(one.reserved)}, ratio ${amount(one.allocation_ratio)}`;
		return found;
	});
}

function tree(providers, parent = null) {
	const mine = providers.filter((one) => one.parent_uuid === parent);
	if (!mine.length) return null;
	return el("ul.tree", mine.map((one) =>
		el("li",
			el("div.provider",
				el("b", one.name),
				el("code", one.uuid),
				el("small", `generation ${amount(one.generation)}`)),
			classes(one.inventories),
			one.traits.length > 0 && el("details", el("summary", `traits: ${amount(one.traits.length)}`), el("p.traits", one.traits.map((trait) => el("code", trait)))),
			tree(providers, one.uuid))));
}

function consumers(books) {
	const found = new Map();
	for (const provider of books.providers) {
		for (const one of provider.consumers) {
			const known = found.get(one.uuid) ?? { ...one, resources: {} };
			for (const [name, used] of Object.entries(one.resources)) known.resources[name] = (known.resources[name] ?? 0) + used;
			found.set(one.uuid, known);
		}
	}
	return [...found.values()];
}

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
function topology(view) {
	if (!view.cells.length && !view.pools?.length) return null;
	return section(["Cells and devices", view.is_closed && el("span.badge.down", "a claim no longer fits")],
		el("div.cells", view.cells.map(cellView)),
		view.pools?.length > 0 && el("ul.pools", view.pools.map(pool)));
}

export class HostPanel {
	constructor(root, leave) {
		this.root = root;
		this._leave = leave;
		this._place = null;
		this._asked = this._timer = 0;
	}

	hide() {
		this._place = null;
		clearTimeout(this._timer);
		this.root.hidden = true;
		this.root.replaceChildren();
	}

	show(host, node, columns) {
		this._columns = columns;
		if (this._place?.host === host && this._place.node === node) return;
		this._place = { host, node };
		this.root.hidden = false;
		fill(this.root, this._title(host, node), loading());
		this._ask();
	}

	/** It changed; not asked more often than twice in a second. */
	refresh() {
		if (this._place && !this._timer) {
			this._timer = setTimeout(() => {
				this._timer = 0;
				this._ask();
			}, PAUSE_MS);
		}
	}

	async _ask() {
		if (!this._place) return;
		const { host, node } = this._place;
		const turn = ++this._asked;
		try {
			const found = await get("gantt/host", { host, node });
			if (turn === this._asked && this._place) this._draw(found);
		} catch (error) {
			if (turn === this._asked && this._place) {
				fill(this.root, this._title(host, node), el("p.wrong", { role: "alert" }, error.message));
			}
		}
	}

	_title(host, node, state = "") {
		return headed([host, node !== host && el("small", ` ${node}`)], this._leave,
			state && el(`span.badge.${state}`, state));
	}

	_draw(books) {
		const { view } = books;
		const scrolled = this.root.scrollTop;
		const index = this._columns.find(view.host, view.node);
		fill(
			this.root,
			this._title(view.host, view.node, index === undefined ? "" : STATES[this._columns.states[index]]),
			this._facts(view, books, index),
			books.providers.length ? section("Providers", tree(books.providers)) : el("p.none", "It has no provider here."),
			topology(books.topology),
			this._claims(books),
			this._instances(view, books),
			el("section", el("details", el("summary", "Report"), el("pre", JSON.stringify(view.stats, null, 1).split("\n").map((line) => el("div", line))))),
		);
		this.root.scrollTop = scrolled;
	}

	_facts(view, books, index) {
		const columns = this._columns;
		const service = view.service;
		const { operator: word, agent } = service;
		const facts = [
			word?.disabled && ["Disabled", `by an operator for ${age(word.since, books.at)}: ${word.reason ?? ""}`, local(word.since)],
			service.disabled && ["Disabled", `by its service: ${service.disabled_reason ?? ""}`],
			service.forced_down && ["Down", "forced down by hand"],
			agent && !agent.is_member && ["Down", `no report of its agent for ${age(agent.since, books.at)}`, local(agent.since)],
			["Report", ago(view.updated_at)],
			["Service", service.last_seen_up ? ["seen ", ago(service.last_seen_up)] : "never seen"],
			["Zone", index === undefined ? "–" : columns.zones[index]],
			["Aggregates", view.aggregates.map((uuid) => columns.aggregateNames.get(uuid) || uuid).join(", ") || "none"],
			["Hypervisor", [view.stats.hypervisor_type, view.stats.hypervisor_version].filter(Boolean).join(" ") || "–"],
		];
		return terms(facts.filter(Boolean));
	}

	_claims(books) {
		const columns = [
			column("Instance", "instance_uuid", (one) => named(one.instance_uuid, books.names)),
			column("Claim", "claim", (one) => code(one.claim)),
			number("VCPU", "vcpus"),
			number("Memory", "memory_mb", (one) => sized(one.memory_mb, "MEMORY_MB")),
			number("Lease", (one) => (one.leased_until === null ? "confirmed" : moment(one.leased_until)),
				(one) => el("span.lease", one.leased_until === null ? "confirmed" : ago(one.leased_until))),
		];
		return listed("Pending claims", columns, books.claims);
	}

	_instances(view, books) {
		const rows = consumers(books);
		const known = new Set(rows.map((one) => one.uuid));
		for (const uuid of view.instances) if (!known.has(uuid)) rows.push({ uuid, project_id: "", resources: {} });
		const there = new Set(view.instances);
		const classNames = [...new Set(rows.flatMap((one) => Object.keys(one.resources)))].sort();
		const columns = [
			column("Consumer", "uuid", (one) => named(one.uuid, books.names)),
			column("Project", "project_id"),
			column("On host", (one) => (there.has(one.uuid) ? "yes" : "not named yet")),
			...classNames.map((name) => number(name, (one) => one.resources[name], (one) => amount(one.resources[name]))),
		];
		const section = listed("Instances and other consumers", columns, rows);
		if (books.consumers_left_out) section.append(el("p.none", `${amount(books.consumers_left_out)} more are not listed.`));
		return section;
	}
}
