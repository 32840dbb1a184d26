// The map: a canvas, drawn only where it changes or glows.

import { arrange, hostAt, neighbour } from "./layout.js";
import { NONE, inkOn, palette } from "./scale.js";
import { plain } from "./text.js";
import { colour, isDark } from "./theme.js";

const GLOW_MS = 1400;
const NAMED_PX = 54;
const FIGURE_PX = 20;
const HEADS_MS = 1000; // sums of all hosts are not made more often
const MOST_ZOOM = 200; // pixels of a slot
const PAN_PX = 4;
const still = matchMedia("(prefers-reduced-motion: reduce)");

export class HostMap {
	/** `name(index)`, `figure(index)`: of a host, `total(members)`: of a group, as text;
	 * `pick(index)`, `open(index)`: what the user does. */
	constructor(canvas, { name, figure = () => "", total = () => "", pick, open, hover }) {
		Object.assign(this, { canvas, _draw: canvas.getContext("2d", { alpha: false }), _name: name, _figure: figure, _total: total, _pick: pick, _open: open, _hover: hover });
		this.groups = [];
		this.steps = new Uint8Array(0);
		this.sizes = new Float32Array(0);
		this.states = [];
		this.faded = null; // Uint8Array: 1 where a search does not match
		this.focused = -1;
		this.chosen = []; // hosts that a ring shows
		this._dirty = new Set();
		this._glow = new Map();
		this._isWhole = true;
		this._pending = 0;
		this.width = this.height = 0;
		this._view = { scale: 1, x: 0, y: 0 };
		this._arranged = arrange([], 1, 1, 0);
		this._listen();
		this._watcher = new ResizeObserver(() => this._resize());
		this._watcher.observe(canvas);
	}

	close() {
		this._watcher.disconnect();
		cancelAnimationFrame(this._pending);
	}

	setGroups(groups, count) {
		this.groups = groups;
		this._count = count;
		this._glow.clear();
		this._arrange();
	}

	restyle() {
		this._isWhole = true;
		this._request();
	}

	changed(indices) {
		const until = performance.now() + GLOW_MS;
		for (const index of indices) this._glow.set(index, until);
		this._isStale = true;
		this._request();
	}

	focus(index, isShown = true) {
		if (this.focused >= 0) this._dirty.add(this.focused);
		this.focused = index;
		if (index >= 0) {
			this._dirty.add(index);
			if (isShown) this._reveal(index);
		}
		this._request();
	}

	fit() {
		this._look({ scale: this._least, x: 0, y: 0 });
	}

	_look(view) {
		this._view = view;
		this._clamp();
		this.restyle();
	}

	/** At which all is seen: below 1 where the smallest slots do not fit. */
	get _least() {
		return Math.min(1, this.height / (this._arranged.height || 1));
	}

	zoom(factor, x = this.width / 2, y = this.height / 2) {
		const view = this._view;
		const most = Math.max(1, MOST_ZOOM / this._arranged.pitch);
		const scale = Math.min(most, Math.max(this._least, view.scale * factor));
		const by = scale / view.scale;
		this._look({ scale, x: x - (x - view.x) * by, y: y - (y - view.y) * by });
	}

	zoomTo(index) {
		const { pitch, x, y } = this._arranged;
		const scale = Math.max(this._view.scale, Math.min(NAMED_PX * 1.4, MOST_ZOOM) / pitch);
		const { width, height } = this;
		this._look({ scale, x: width / 2 - (x[index] + pitch / 2) * scale, y: height / 2 - (y[index] + pitch / 2) * scale });
	}

	_resize() {
		const { clientWidth, clientHeight } = this.canvas;
		const ratio = devicePixelRatio || 1;
		if (!clientWidth || !clientHeight) return;
		[this.width, this.height] = [clientWidth, clientHeight];
		this.canvas.width = Math.round(clientWidth * ratio);
		this.canvas.height = Math.round(clientHeight * ratio);
		this._arrange();
	}

	_arrange() {
		const { width, height } = this;
		if (!width || !height) return;
		const isFitted = this._view.scale === this._least;
		this._arranged = arrange(this.groups, width, height, this._count ?? 0);
		if (isFitted) this._view.scale = this._least;
		this._clamp();
		this.restyle();
	}

	_clamp() {
		const view = this._view;
		const { width, height } = this;
		const across = width * view.scale;
		const down = Math.max(height, this._arranged.height) * view.scale;
		view.x = Math.min(0, Math.max(width - across, view.x));
		view.y = Math.min(0, Math.max(height - down, view.y));
	}

	_slot(index) {
		const { pitch, x, y } = this._arranged;
		const { scale, x: dx, y: dy } = this._view;
		return { left: x[index] * scale + dx, top: y[index] * scale + dy, side: pitch * scale };
	}

	_reveal(index) {
		const { left, top, side } = this._slot(index);
		const { width, height } = this;
		if (left >= 0 && top >= 0 && left + side <= width && top + side <= height) return;
		this._view.x += width / 2 - left;
		this._view.y += height / 2 - top;
		this._clamp();
		this._isWhole = true;
	}

	at(x, y) {
		const { scale, x: left, y: top } = this._view;
		return hostAt(this._arranged, (x - left) / scale, (y - top) / scale);
	}

	_request() {
		this._pending ||= requestAnimationFrame((now) => this._frame(now));
	}

	_frame(now) {
		this._pending = 0;
		this._begin();
		if (this._isWhole) this._all(now);
		else this._some(now);
		for (const index of this.chosen) this._ring(index);
		this._isWhole = false;
		this._dirty.clear();
		for (const [index, until] of this._glow) {
			if (until <= now) {
				this._glow.delete(index);
				this._dirty.add(index); // once more, without its glow
			}
		}
		if (this._glow.size || this._dirty.size) this._request();
	}

	_begin() {
		const ratio = devicePixelRatio || 1;
		this._draw.setTransform(ratio, 0, 0, ratio, 0, 0);
		if (this._shade !== isDark()) {
			this._shade = isDark();
			this._palette = palette(this._shade);
			this._isWhole = true;
		}
		if (this._isWhole) this._ink = Object.fromEntries(["page", "text", "quiet", "accent", "down", "over"].map((name) => [name, colour(`--${name}`)]));
	}

	_all(now) {
		const draw = this._draw;
		draw.fillStyle = this._ink.page;
		draw.fillRect(0, 0, this.width, this.height);
		for (const block of this._arranged.blocks) {
			if (!this._isSeen(block)) continue;
			this._head(block);
			for (const index of block.group.members) this._cell(index, now, true);
		}
	}

	_some(now) {
		if (this._isStale && now > (this._headsAt ?? 0) + HEADS_MS) {
			for (const block of this._arranged.blocks) if (this._isSeen({ ...block, height: block.head })) this._head(block);
			this._isStale = false;
			this._headsAt = now;
		}
		for (const index of this._dirty) this._cell(index, now);
		for (const index of this._glow.keys()) if (!this._dirty.has(index)) this._cell(index, now);
	}

	_isSeen({ x, y, width, height }) {
		const { scale, x: left, y: top } = this._view;
		return x * scale + left < this.width && y * scale + top < this.height && (x + width) * scale + left > 0 && (y + height) * scale + top > 0;
	}

	_head(block) {
		const draw = this._draw;
		const { scale, x, y } = this._view;
		const size = Math.min(block.head * 0.62 * scale, 15);
		draw.fillStyle = this._ink.page;
		draw.fillRect(Math.floor(block.x * scale + x), Math.floor(block.y * scale + y), Math.ceil(block.width * scale), Math.floor(block.head * scale));
		draw.font = `600 ${size}px system-ui, sans-serif`;
		draw.textBaseline = "alphabetic";
		draw.fillStyle = this._ink.quiet;
		const most = block.width * scale - 2;
		const name = plain(block.group.name);
		const counted = `${name}  ${block.group.members.length}`;
		const whole = `${counted}  ${this._total(block.group.members)}`;
		const text = [whole, counted].find((one) => draw.measureText(one).width <= most) ?? cut(draw, name, most);
		draw.fillText(text, block.x * scale + x + 1, (block.y + block.head * 0.72) * scale + y);
	}

	_cell(index, now, isFresh = false) {
		const { pitch, x: xs, y: ys } = this._arranged;
		if (!this._isSeen({ x: xs[index], y: ys[index], width: pitch, height: pitch })) return;
		const draw = this._draw;
		const slot = this._slot(index);
		const [left, top] = [Math.round(slot.left), Math.round(slot.top)];
		const width = Math.round(slot.left + slot.side) - left;
		const height = Math.round(slot.top + slot.side) - top;
		if (!isFresh) {
			draw.fillStyle = this._ink.page;
			draw.fillRect(left, top, width, height);
		}
		const gap = width > 5 ? 1 : 0;
		const side = Math.max(1, (Math.min(width, height) - gap) * this.sizes[index]);
		const [x, y] = [left + (width - gap - side) / 2, top + (height - gap - side) / 2];
		if (this.faded?.[index]) draw.globalAlpha = 0.13;
		this._body(index, x, y, side);
		if (side > NAMED_PX) this._label(index, x, y, side);
		if (side > FIGURE_PX) this._number(index, x, y, side);
		draw.globalAlpha = 1;
		this._marks(index, now, left, top, width - gap, height - gap);
	}

	_pen(tint, width) {
		this._draw.strokeStyle = tint;
		this._draw.lineWidth = width;
	}

	_body(index, x, y, side) {
		const draw = this._draw;
		const state = this.states[index];
		const tint = this._palette[this.steps[index]];
		if (state === 1) { // disabled: hollow
			this._pen(tint === this._palette[NONE] ? this._ink.quiet : tint, Math.max(1, Math.min(4, side / 6)));
			const inset = draw.lineWidth / 2;
			draw.strokeRect(x + inset, y + inset, side - 2 * inset, side - 2 * inset);
			return;
		}
		if (this.steps[index] === NONE) this._absent(x, y, side);
		else {
			draw.fillStyle = tint;
			draw.fillRect(x, y, side, side);
		}
		if (state === 2 || state === 3) { // down: crossed; stale: one stroke
			this._pen(state === 2 ? this._ink.down : this._ink.text, Math.max(1, Math.min(4, side / 7)));
			draw.beginPath();
			draw.moveTo(x, y + side);
			draw.lineTo(x + side, y);
			if (state === 2) {
				draw.moveTo(x, y);
				draw.lineTo(x + side, y + side);
			}
			draw.stroke();
		}
	}

	/** A host of another kind: a dot in an empty place. */
	_absent(x, y, side) {
		const draw = this._draw;
		draw.fillStyle = this._ink.quiet;
		draw.beginPath();
		draw.arc(x + side / 2, y + side / 2, Math.max(0.6, Math.min(4, side / 7)), 0, 2 * Math.PI);
		draw.fill();
	}

	_write(index, size, baseline) {
		const isEmpty = this.states[index] === 1 || this.steps[index] === NONE;
		Object.assign(this._draw, {
			fillStyle: isEmpty ? this._ink.text : inkOn(this.steps[index], this._shade), font: `${size}px system-ui, sans-serif`, textBaseline: baseline,
		});
	}

	_number(index, x, y, side) {
		const draw = this._draw;
		const isNamed = side > NAMED_PX;
		this._write(index, isNamed ? Math.min(22, side / 4) : Math.min(13, side / 2.2), "middle");
		const text = this._figure(index);
		draw.fillText(text, x + (side - draw.measureText(text).width) / 2, y + side * (isNamed ? 0.6 : 0.53));
	}

	_label(index, x, y, side) {
		const draw = this._draw;
		this._write(index, Math.min(12, side / 6), "top");
		draw.fillText(cut(draw, plain(this._name(index)), side - 12), x + 6, y + 6);
	}

	_marks(index, now, left, top, width, height) {
		const draw = this._draw;
		const frame = (tint) => {
			this._pen(tint, 2);
			draw.strokeRect(left + 1, top + 1, width - 2, height - 2);
		};
		const until = this._glow.get(index);
		if (until > now) {
			draw.globalAlpha = still.matches ? 1 : Math.min(1, (until - now) / GLOW_MS);
			frame(this._ink.accent);
			draw.globalAlpha = 1;
		}
		if (index === this.focused) frame(this._ink.text);
	}

	_ring(index) {
		const draw = this._draw;
		const { left, top, side } = this._slot(index);
		const half = side / 2;
		for (const [name, width] of [["page", 6], ["over", 3]]) {
			this._pen(this._ink[name], width);
			draw.beginPath();
			draw.arc(left + half, top + half, Math.max(9, half / 2), 0, 2 * Math.PI);
			draw.stroke();
		}
	}

	_listen() {
		let from = null;
		let isPan = false;
		const acts = {
			pointerdown: (event) => {
				from = { x: event.offsetX, y: event.offsetY, view: { ...this._view } };
				isPan = false;
				this.canvas.setPointerCapture(event.pointerId);
			},
			pointermove: ({ offsetX: x, offsetY: y }) => {
				isPan ||= Boolean(from) && Math.hypot(x - from.x, y - from.y) > PAN_PX;
				if (from && isPan) this._look({ ...this._view, x: from.view.x + x - from.x, y: from.view.y + y - from.y });
				this._hover(from && isPan ? -1 : this.at(x, y), x, y);
			},
			pointerup: (event) => {
				const index = from && !isPan ? this.at(event.offsetX, event.offsetY) : -1;
				from = null;
				if (index < 0) return;
				this.focus(index, false);
				this._open(index);
			},
			pointercancel: () => { from = null; },
			pointerleave: () => this._hover(-1, 0, 0),
			wheel: (event) => {
				event.preventDefault();
				this.zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
			},
			keydown: (event) => this._key(event),
		};
		for (const [name, act] of Object.entries(acts)) this.canvas.addEventListener(name, act, { passive: false });
	}

	_key(event) {
		if (event.ctrlKey || event.metaKey || event.altKey) return;
		const { key } = event;
		if (/^(Arrow|Home|End|Page)/.test(key)) {
			const next = neighbour(this._arranged, this.focused, key);
			if (next >= 0) {
				this.focus(next);
				this._pick(next);
			}
		} else if ((key === "Enter" || key === " ") && this.focused >= 0) this._open(this.focused);
		else if (key === "+" || key === "=") {
			if (this.focused >= 0 && this._view.scale === this._least) this.zoomTo(this.focused);
			else this.zoom(1.5);
		} else if (key === "-") this.zoom(1 / 1.5);
		else if (key === "0") this.fit();
		else return;
		event.preventDefault();
	}
}

function cut(draw, text, width) {
	if (width < 8) return "";
	if (draw.measureText(text).width <= width) return text;
	let length = Math.min(text.length, Math.floor(width / 4));
	while (length > 0 && draw.measureText(`${text.slice(0, length)}…`).width > width) length -= 1;
	return length ? `${text.slice(0, length)}…` : "";
}
