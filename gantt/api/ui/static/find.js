// The search for an instance, on every page: i goes there, Enter shows what is found.

import { el } from "./elements.js";
import { change, current, link, route } from "./router.js";

const PAGE = "instances";

/** The field; on the page Instances it is that page's search. */
export function finder() {
	const isThere = () => current().page === PAGE;
	return el("input.find", {
		type: "search", placeholder: "Find instance  ( i )", spellcheck: "false", autocomplete: "off", maxlength: "255",
		"aria-label": "Find an instance by its name, uuid, a part of either, or project",
		on: {
			input: (event) => { if (isThere()) change({ q: event.target.value }, true); },
			keydown: (event) => { if (event.key === "Enter" && !isThere()) location.hash = link(PAGE, { q: event.target.value.trim() }); },
		},
	});
}

const field = () => document.querySelector(".find");

document.addEventListener("keydown", (event) => {
	const isTyped = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey;
	if (isTyped || !field() || !(event.key === "i" || (event.key === "/" && current().page === PAGE))) return;
	event.preventDefault();
	field().select();
});

route.addEventListener("change", () => {
	const { page, params } = current();
	if (field() && document.activeElement !== field()) field().value = page === PAGE ? params.q ?? "" : "";
});
