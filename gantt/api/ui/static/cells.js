// Columns of tables and what stands in their cells, and the head of what is open beside.

import { button, el } from "./elements.js";
import { link } from "./router.js";
import { plain } from "./text.js";

/** A column; `value`: the field of a row, or what finds it; `show`: what is seen of it. */
export function column(label, value, show) {
	return { label, value: typeof value === "string" ? (row) => row[value] : value, show };
}

export function number(label, value, show) {
	return { ...column(label, value, show), isNumber: true };
}

export const code = (text) => (text ? el("code", { title: plain(text) }, plain(text)) : "–");

/** Text that may have several lines. */
export const told = (text) => el("span.told", plain(text ?? "–"));

/** A host's name, which leads to the page Fleet. */
export function hostLink(host, node = host) {
	if (!host) return "–";
	return el("a", { href: link("fleet", { host, node: node === host ? "" : node }), title: plain(host) }, plain(host));
}

/** The title of what is open; `leave` closes it. */
export function headed(title, leave, ...badges) {
	return el("header", el("h2", title), badges, el("span.grow"),
		button("×", leave, { "aria-label": "Close", title: "Close (Esc)" }));
}
