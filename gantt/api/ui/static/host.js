// One host: what it reports, its tree of providers, its instances, claims and cells.

import { get } from "./api.js";
import { STATES } from "./columns.js";
import { el, fill, loading, terms } from "./elements.js";
import { code, column, headed, listed, named, number, use } from "./table.js";
import { age, amount, local, moment, sized, span } from "./text.js";
import { topology } from "./topology.js";

const PAUSE_MS = 500;
const LEASE_MS = 1000;

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

export class HostPanel {
	constructor(root, leave) {
		this.root = root;
		this._leave = leave;
		this._place = null;
		this._asked = this._timer = 0;
		this._leases = setInterval(() => this._count(), LEASE_MS);
	}

	close() {
		this.hide();
		clearInterval(this._leases);
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
		fill(this.root, this._title(host, node, ""), loading());
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
				fill(this.root, this._title(host, node, ""), el("p.wrong", { role: "alert" }, error.message));
			}
		}
	}

	_title(host, node, state) {
		return headed([host, node !== host && el("small", ` ${node}`)], this._leave,
			state && el(`span.badge.${state}`, state));
	}

	_draw(books) {
		const { view } = books;
		const scrolled = this.root.scrollTop;
		const index = this._columns.find(view.host, view.node);
		this._offset = books.at - Date.now() * 1000;
		fill(
			this.root,
			this._title(view.host, view.node, index === undefined ? "" : STATES[this._columns.states[index]]),
			this._facts(view, books, index),
			books.providers.length ? el("section", el("h3", "Providers"), tree(books.providers)) : el("p.none", "It has no provider here."),
			topology(books.topology),
			this._claims(books),
			this._instances(view, books),
			el("section", el("details", el("summary", "Report"), el("pre", JSON.stringify(view.stats, null, 1).split("\n").map((line) => el("div", line))))),
		);
		this.root.scrollTop = scrolled;
		this._count();
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
			["Report", `${age(view.updated_at, books.at)} old`, local(view.updated_at)],
			["Service", service.last_seen_up ? `seen ${age(service.last_seen_up, books.at)} ago` : "never seen", local(service.last_seen_up)],
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
				(one) => el("span.lease", { data: { until: one.leased_until ?? "" } })),
		];
		return listed("Pending claims", "claims.csv", columns, books.claims);
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
		const section = listed("Instances and other consumers", "consumers.csv", columns, rows);
		if (books.consumers_left_out) section.append(el("p.none", `${amount(books.consumers_left_out)} more are not listed.`));
		return section;
	}

	_count() {
		const now = Date.now() * 1000 + (this._offset ?? 0);
		for (const one of this.root.querySelectorAll(".lease")) {
			const until = one.dataset.until;
			one.textContent = until ? (until > now ? span((until - now) / 1e6) : "ended") : "confirmed";
		}
	}
}
