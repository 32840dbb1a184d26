// The search of a page, and keys: / goes there, Enter opens the first, Escape clears it.

import { el } from "./elements.js";
import { change } from "./router.js";

export class Search {
	/** `label`: what for; `key(event)`: any other key, where nothing is typed. */
	constructor(placeholder, label, { enter, escape, key }) {
		const clear = (value) => { this.input.value = value; change({ q: value }, true); };
		this.input = el("input", {
			type: "search", placeholder: `${placeholder}  ( / )`, "aria-label": label, spellcheck: "false", autocomplete: "off",
			on: { input: () => clear(this.input.value) },
		});
		this._keys = (event) => {
			const isHere = event.target === this.input;
			if (event.key === "Escape") {
				if (isHere && this.input.value) clear("");
				else escape();
			} else if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey) {
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
