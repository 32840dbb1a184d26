// Tables: cells, sorting, drawing what is seen, CSV.

import { clock } from "./api.js";
import { bar, button, el, fill, region, section, select } from "./elements.js";
import { change, link } from "./router.js";
import { amount, local, moment, percent, sized, span } from "./text.js";

const ROW_PX = 28;
const SPARE = 8;
const AGES_MS = 1000;
const LIMITS = ["50", "200", "1000"];

const FORMULA = /^[=+\-@\t\r]/;

function cell(value) {
	if (value == null) return "";
	if (typeof value === "number") return String(value);
	const text = FORMULA.test(value) ? `'${value}` : String(value);
	return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csv(columns, rows) {
	const lines = [columns.map((one) => cell(one.label)), ...rows.map((row) => columns.map((one) => cell(one.value(row))))];
	return `${lines.map((line) => line.join(",")).join("\r\n")}\r\n`;
}

export function save(name, text) {
	const url = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
	const anchor = el("a", { href: url, download: name });
	anchor.click();
	setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/** Saves the `rows()` as a file that is called like `title`. */
export function csvButton(title, columns, rows) {
	const name = title.toLowerCase().replace(/\W+/g, "-");
	return button("CSV", () => save(`${name}.csv`, csv(columns, rows())), { class: "small" });
}

const kind = (column) => ({ class: column.isNumber && "number" });
const seen = (column, row) => (column.show ? column.show(row) : column.value(row) ?? "–");

export const compare = (one, other) => {
	if (one === other) return 0;
	if (one == null) return 1;
	if (other == null) return -1;
	return typeof one === "number" && typeof other === "number"
		? one - other
		: String(one).localeCompare(String(other), undefined, { numeric: true });
};

/** A long table. `columns`: { key, label, value(row), show(row), isNumber }; `show` may
 * make an element, else it is the value as text. `open(row)`: a row is chosen;
 * `isCurrent(row)`: it is the one that is open. */
export class Table {
	constructor({ columns, caption, open, sort, sorted, isCurrent = () => false }) {
		Object.assign(this, { columns, sort, _first: sort, _open: open, _sorted: sorted, _isCurrent: isCurrent, _rows: [], shown: [] });
		this._body = el("tbody");
		[this._above, this._below] = [1, 2].map(() => el("tr", { "aria-hidden": "true" }, el("td", { colspan: columns.length })));
		this._head = el("tr");
		this._table = el("table.long", el("caption.spoken", caption), el("thead", this._head), this._body);
		this.root = region("div.scroll", caption, this._table);
		this.root.addEventListener("scroll", () => this.request(), { passive: true });
		this._watcher = new ResizeObserver(() => this.request());
		this._watcher.observe(this.root);
		this._pending = 0;
		this._heads();
	}

	close() {
		this._watcher.disconnect();
		cancelAnimationFrame(this._pending);
	}

	set(rows) {
		this._rows = rows;
		this._order();
	}

	reveal(place) {
		const { scrollTop, clientHeight } = this.root;
		const top = place * ROW_PX;
		const bottom = top + 2 * ROW_PX; // below the head
		if (top < scrollTop) this.root.scrollTop = top;
		else if (bottom > scrollTop + clientHeight) this.root.scrollTop = bottom - clientHeight;
	}

	/** By a column that there is, else as at first. */
	sortBy(wanted) {
		const key = this.columns.some((one) => one.key === wanted?.replace(/^-/, "")) ? wanted : this._first;
		if (key === this.sort) return;
		this.sort = key;
		this._heads();
		this._order();
	}

	get _by() {
		return [this.sort.replace(/^-/, ""), this.sort.startsWith("-")];
	}

	_order() {
		const [key, isDown] = this._by;
		const column = this.columns.find((one) => one.key === key) ?? this.columns[0];
		const keyed = this._rows.map((row) => [column.value(row), row]);
		keyed.sort(([one], [other]) => (isDown ? -compare(one, other) : compare(one, other)));
		this.shown = keyed.map(([, row]) => row);
		this._table.ariaRowCount = this.shown.length + 1;
		this.request();
	}

	_heads() {
		const [key, isDown] = this._by;
		fill(this._head, this.columns.map((one) => {
			const isHere = one.key === key;
			const act = () => {
				this.sortBy(isHere && !isDown ? `-${one.key}` : one.key);
				this._sorted(this.sort);
			};
			return el("th", { scope: "col", ...kind(one), "aria-sort": isHere ? (isDown ? "descending" : "ascending") : null },
				button(one.label + (isHere ? (isDown ? " ↓" : " ↑") : ""), act));
		}));
	}

	request() {
		this._pending ||= requestAnimationFrame(() => {
			this._pending = 0;
			this._draw();
		});
	}

	_draw() {
		const first = Math.max(0, Math.floor(this.root.scrollTop / ROW_PX) - SPARE);
		const seen = Math.ceil(this.root.clientHeight / ROW_PX) + 2 * SPARE;
		const last = Math.min(this.shown.length, first + seen);
		this._above.firstChild.style.height = `${first * ROW_PX}px`;
		this._below.firstChild.style.height = `${(this.shown.length - last) * ROW_PX}px`;
		fill(this._body, this._above, this.shown.slice(first, last).map((row, at) => this._row(row, first + at)), this._below);
	}

	_row(row, at) {
		return el(
			"tr",
			{ "aria-rowindex": at + 2, "aria-current": this._isCurrent(row) ? "true" : null, data: { row }, on: this._open ? { click: () => this._open(row) } : {} },
			this.columns.map((one, number) => {
				const shown = seen(one, row);
				const inside = number === 0 && this._open
					? button(shown, (event) => { event.stopPropagation(); this._open(row); }, { class: "link" })
					: shown;
				return el("td", kind(one), inside);
			}),
		);
	}
}

export function small(columns, rows, caption) {
	return el("table",
		el("caption.spoken", caption),
		el("thead", el("tr", columns.map((one) => el("th", { scope: "col", ...kind(one) }, one.label)))),
		el("tbody", rows.map((row) => el("tr", columns.map((one) => el("td", kind(one), seen(one, row)))))));
}

/** The same with a heading and a button that saves all `rows`; `most` are shown. */
export function listed(title, columns, rows, most = Infinity) {
	return section([title, " ", el("small", amount(rows.length)), rows.length > 0 && csvButton(title, columns, () => rows)],
		rows.length
			? region("div.wide", title, small(columns, rows.slice(0, most), title))
			: el("p.none", "none"),
		rows.length > most && el("p.none", `The first ${amount(most)} are shown.`));
}

/** A column; `value`: the field of a row, if it is not `label`, or what finds it; `show`: what is seen of it;
 * `key`: what a long table is sorted by. */
export function column(label, value = label, show, key = label.toLowerCase()) {
	return { label, value: typeof value === "string" ? (row) => row[value] : value, show, key };
}

export const number = (...given) => ({ ...column(...given), isNumber: true });

export const code = (text) => (text ? el("code", { title: text }, text) : "–");

/** An instance by its name, where it is known, and its uuid. */
export const named = (uuid, names = {}) => [names[uuid] && el("b", names[uuid]), " ", code(uuid)];

export const told = (text) => el("span.told", text ?? "–");

function since(at) {
	const passed = (clock() - at) / 1e6;
	return passed < -2 ? `in ${span(-passed)}` : `${span(Math.max(0, passed))} ago`;
}

/** How long ago it was, or in how long it will be, with the local time on hover. */
export const ago = (at) => (at == null ? "–" : el("time", { title: local(at), datetime: moment(at) }, since(at)));

setInterval(() => { for (const one of document.querySelectorAll("time")) one.textContent = since(Date.parse(one.dateTime) * 1000); }, AGES_MS);

/** How many are asked for, as the address says it, and the choice of it. */
export const limitOf = ({ limit }) => (LIMITS.includes(limit) ? limit : LIMITS[0]);
export const limits = (label) => select(label, LIMITS.map((one) => [one, amount(+one)]), LIMITS[0], (limit) => change({ limit }));

export function hostLink(host, node = host) {
	if (!host) return "–";
	return el("a", { href: link("fleet", { host, node: node === host ? "" : node }), title: host }, host);
}

export const hostOf = (label) => column(label, "host", (one) => hostLink(one.host, one.node));

export function use(name, used, capacity, className = name) {
	const part = used ? used / capacity : 0;
	return el("div.use", el("span", name), bar(part, `${name}: ${percent(part)} used`), el("span", `${sized(used, className)} / ${sized(capacity, className)}`));
}

export function headed(title, leave, ...badges) {
	return el("header", el("h2", title), badges, el("span.grow"),
		leave && button("×", leave, { "aria-label": "Close", title: "Close (Esc)" }));
}
