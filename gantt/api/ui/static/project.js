// What a member of a project sees instead of the fleet: what it uses, and how it fared.

import { get, now } from "./api.js";
import { el, fill, loading, refuse } from "./elements.js";
import { link } from "./router.js";
import { ago, column, listed, number } from "./table.js";
import { amount, sized } from "./text.js";

const LATEST = 100;
const MAY_NOT = "This token may not list hosts: below is what it may see.";

export class ProjectView {
	constructor(root) {
		this.note = loading();
		this.parts = el("div");
		root.append(el("section.health", el("p.none.note", MAY_NOT), this.note, this.parts));
		this._look();
	}

	update() {}

	close() { this._isClosed = true; }

	async _look() {
		try {
			const { decisions } = await get("gantt/decisions", { limit: LATEST });
			const project = decisions[0]?.project_id;
			const { usages } = project ? await get("usages", { project_id: project }) : { usages: {} };
			const at = (await now()) * 1000;
			if (!this._isClosed) this._draw(project, decisions, Object.entries(usages).flatMap(([type, { consumer_count: _, ...used }]) => Object.entries(used).map(([name, sum]) => ({ type, name, sum }))), at);
		} catch (error) {
			refuse(this.note, "list decisions of its project", error);
		}
	}

	_draw(project, decisions, used, at) {
		this.note.hidden = true;
		const refused = decisions.filter((one) => one.failure !== null);
		fill(this.parts,
			el("div.part", listed(project ? `What project ${project} uses` : "What the project uses", "usage.csv",
				[column("Of", "type"), column("Class", "name"), number("Used", "sum", (one) => sized(one.sum, one.name))], used)),
			el("div.part", listed("Its latest refusals", "refusals.csv", [
				column("When", "at", (one) => el("a", { href: link("decisions", { request: one.request_id, at: one.at }) }, ago(one.at, at))),
				column("Request", "request_id"), number("Hosts", "hosts"),
			], refused), el("p.none", `${amount(refused.length)} of its latest ${amount(decisions.length)} requests were refused. `, el("a", { href: link("decisions") }, "All its decisions"))));
	}
}
