// Elements made of data: text is never markup, and shows what would hide in it.

import { plain } from "./text.js";

const NOTHING = [null, undefined, false];
const SPOKEN = ["title", "aria-label"];
const SVG = "http://www.w3.org/2000/svg";

function filled(node, about, children) {
	for (const [name, value] of Object.entries(about)) {
		if (NOTHING.includes(value)) continue;
		if (name === "on") for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
		else if (name === "data") Object.assign(node.dataset, value);
		else if (name === "style") for (const [property, text] of Object.entries(value)) node.style.setProperty(property, text);
		else node.setAttribute(name, value === true ? "" : SPOKEN.includes(name) ? plain(value) : value);
	}
	const given = children.flat(Infinity).filter((one) => !NOTHING.includes(one));
	node.append(...given.map((one) => (one instanceof Node ? one : plain(one))));
	return node;
}

/** An element, such as "p" or "p.note.wrong"; its attributes, with `on`, `data` and `style`,
 * if any; and what is in it. */
export function el(kind, ...inside) {
	const [tag, ...classes] = kind.split(".");
	const node = document.createElement(tag);
	if (classes.length) node.className = classes.join(" ");
	return filled(node, inside[0]?.constructor === Object ? inside.shift() : {}, inside);
}

export function button(label, act, about = {}) {
	return el("button", { type: "button", on: { click: act }, ...about }, label);
}

export function svg(tag, about = {}, ...children) {
	return filled(document.createElementNS(SVG, tag), about, children);
}

export const sign = (kind, told, style = {}) => el("span", el(`i.key.${kind}`, { style }), told);

/** Fill `bar` where `offered` is other than before: else an open choice stays so. */
export function offer(bar, offered, make) {
	const text = JSON.stringify(offered);
	if (text !== bar.offered) fill(bar, make());
	bar.offered = text;
}

export const toolbar = (...inside) => el("div.controls", { role: "toolbar", "aria-label": "What is shown" }, inside);

/** What the keyboard reaches in `node`, by kind, name or row, and number. */
function reached(node) {
	const found = new Map();
	const counts = {};
	for (const one of node.querySelectorAll("a, button, input, select, summary, [tabindex]")) {
		const name = one.tagName + (one.ariaLabel ?? one.closest("[data-row]")?.dataset.row ?? one.textContent);
		counts[name] = (counts[name] ?? 0) + 1;
		found.set(name + counts[name], one);
	}
	return found;
}

/** Put `children` into `node`. What has the name of something before stays scrolled, open
 * and focused; of what is gone, a neighbour has the focus. */
export function fill(node, ...children) {
	const before = [...reached(node)].map(([name, one]) => [name, one.scrollLeft, one.parentNode.open, one === document.activeElement]);
	node.replaceChildren();
	filled(node, {}, children);
	const after = reached(node);
	before.forEach(([name, left, isOpen, isFocused], at) => {
		const one = after.get(name);
		if (one && left) one.scrollLeft = left;
		if (one && isOpen) one.parentNode.open = true;
		if (isFocused) (one ?? [...after.values()].slice(0, at + 1).at(-1))?.focus({ preventScroll: true });
	});
	return node;
}

export function select(label, options, chosen, choose, name = null) {
	const box = el(
		"select",
		{ name, "aria-label": label, on: { change: () => choose(box.value) } },
		options.map((one) => [one].flat()).map(([value, text = value]) => el("option", { value, selected: value === chosen }, text)),
	);
	return el("label.choice", el("span", label), box);
}

export const terms = (pairs) => el("dl", pairs.map(([name, text, title]) => [el("dt", name), el("dd", { title }, text)]));

export function bar(part, label) {
	const width = `${Math.round(Math.min(1, Math.max(0, part)) * 1000) / 10}%`;
	return el(part > 1 ? "span.bar.over" : "span.bar", { role: "img", "aria-label": label }, el("span", { style: { width } }));
}

export function say(text) {
	const place = document.getElementById("said");
	if (place) place.textContent = plain(text);
}

export const section = (title, ...inside) => el("section", el("h3", title), inside);
export const region = (kind, label, inside) => el(kind, { tabindex: "0", role: "group", "aria-label": label }, inside);
export const wrong = (error) => el("p.note", error.message);
export const loading = () => el("p.note", { role: "status" }, "Loading …");

/** Tell in `note` why this token may not do it, or what else went wrong. */
export function refuse(note, what, error) {
	note.hidden = false;
	fill(note, error.status === 403 ? `This token may not ${what}: ${error.message}` : error.message);
}
