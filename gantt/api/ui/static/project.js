// What a member of a project sees instead of the fleet: what it uses, and how it fared.

import { get } from "./api.js";
import { el, fill, loading, refuse } from "./elements.js";
import { link } from "./router.js";
import { column, listed, number } from "./table.js";
import { amount, many, sized } from "./text.js";

const LATEST = 100;
const COLUMNS = [column("Of", "type"), column("Class", "name"), number("Used", "sum", (one) => sized(one.sum, one.name))];

const rows = (usages) => Object.entries(usages).flatMap(([type, sums]) => Object.entries(sums).map(([name, sum]) => ({ type, name: name === "consumer_count" ? "instances" : name, sum })));

export class ProjectView {
	constructor(root) {
		this.note = loading();
		this.part = el("div.part", { hidden: true });
		root.append(el("section.health", el("p.note", "This token may not list hosts: below is what it may see."), this.note, this.part));
		this._look();
	}

	update() {}

	close() {}

	async _look() {
		try {
			const [{ project_id: project }, { decisions }] = await Promise.all([get("gantt/instances", { limit: 1 }), get("gantt/decisions", { limit: LATEST })]);
			const { usages } = project ? await get("usages", { project_id: project }) : {};
			const refused = decisions.filter((one) => one.failure !== null).length;
			this.note.hidden = true;
			this.part.hidden = false;
			fill(this.part, usages ? listed(`What project ${project} uses`, COLUMNS, rows(usages)) : el("p.none", "This token is not bound to one project."),
				el("a", { href: link("decisions") }, `${amount(refused)} of ${project ? "its" : "the"} latest ${many(decisions.length, "request")} were refused`));
		} catch (error) {
			refuse(this.note, "list what its project has", error);
		}
	}
}
