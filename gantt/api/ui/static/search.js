// The search of a page: / goes there, Enter opens the first, Escape clears it. And that for
// an instance, on every page: i goes there, Enter shows what is found.

import { el } from "./elements.js";
import { change, current, link, route } from "./router.js";

const PAGE = "instances";
const FIELD = { type: "search", spellcheck: "false", autocomplete: "off" };

/** Into a field, or for the browser. */
const isTyped = (event) => /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey;

export class Search {
	/** `label`: what for; `key(event)`: any other key, where nothing is typed. */
	constructor(placeholder, label, { enter, escape, key }) {
		const clear = (value) => { this.input.value = value; change({ q: value }, true); };
		this.input = el("input", {
			...FIELD, placeholder: `${placeholder}  ( / )`, "aria-label": label,
			on: { input: () => clear(this.input.value) },
		});
		this._keys = (event) => {
			const isHere = event.target === this.input;
			if (event.key === "Escape") {
				if (isHere && this.input.value) clear("");
				else escape();
			} else if (isTyped(event)) {
				if (event.key === "Enter" && isHere) enter();
			} else if (event.key === "/") {
				event.preventDefault();
				this.input.focus();
			} else key(event);
		};
		document.addEventListener("keydown", this._keys);
	}

	close() {
		document.removeEventListener("keydown", this._keys);
	}

	show(query = "") {
		if (document.activeElement !== this.input) this.input.value = query;
	}
}

/** The field; on the page Instances it is that page's search. */
export function finder() {
	const isThere = () => current().page === PAGE;
	return el("input.find", {
		...FIELD, placeholder: "Find instance  ( i )", maxlength: "255",
		"aria-label": "Find an instance by its name, uuid, a part of either, or project",
		on: {
			input: (event) => { if (isThere()) change({ q: event.target.value }, true); },
			keydown: (event) => { if (event.key === "Enter" && !isThere()) location.hash = link(PAGE, { q: event.target.value.trim() }); },
		},
	});
}

const field = () => document.querySelector(".find");

document.addEventListener("keydown", (event) => {
	if (isTyped(event) || !field() || !(event.key === "i" || (event.key === "/" && current().page === PAGE))) return;
	event.preventDefault();
	field().select();
});

route.addEventListener("change", () => {
	const { page, params } = current();
	if (field() && document.activeElement !== field()) field().value = page === PAGE ? params.q ?? "" : "";
});
