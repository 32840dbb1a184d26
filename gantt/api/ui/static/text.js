// Numbers, times and names as text.

export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

// What would hide text or turn it round, and halves of characters.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** `text` with an escape for each character that cannot be seen. */
export function plain(text) {
	return String(text).replace(UNSEEN, (one) => `\\u${one.codePointAt(0).toString(16).padStart(4, "0")}`);
}

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });

export function amount(number) {
	if (number == null) return "–";
	return (Number.isInteger(number) || Math.abs(number) >= 1000 ? whole : fine).format(number);
}

export const many = (count, noun) => `${amount(count)} ${noun}${count === 1 ? "" : "s"}`;

// How much of each is a GiB: one unit, so that amounts compare at a look.
const GIB = { MEMORY_MB: 1024, DISK_GB: 1 };

export function sized(number, className) {
	const part = GIB[className];
	return part ? `${amount(Math.round((number / part) * 10) / 10)} GiB` : short(number);
}

// The least that each is for.
const SHORT = [[1e9, 1e9, "G"], [1e6, 1e6, "M"], [1e4, 1e3, "k"]];

export function short(number) {
	const [, unit, letter] = SHORT.find(([least]) => Math.abs(number) >= least) ?? [];
	return unit ? `${Math.round((number / unit) * 10) / 10}${letter}` : amount(number);
}

export function percent(part) {
	return Number.isFinite(part) ? `${Math.round(part * 1000) / 10} %` : "–";
}

/** How long ago `at` was at `now`, both in microseconds. */
export function age(at, now) {
	return at == null ? "never" : span((now - at) / 1e6);
}

const SPANS = [[172800, 86400, "d"], [7200, 3600, "h"], [120, 60, "min"], [1, 1, "s"]];

export function span(seconds) {
	const length = Math.abs(seconds);
	const [, unit, name] = SPANS.find(([least]) => length >= least) ?? [];
	return unit ? `${seconds < 0 ? "-" : ""}${Math.floor(length / unit)} ${name}` : "0 s";
}

/** In the zone of the browser, for whoever points at an age. */
export const local = (at) => (at == null ? "never" : new Date(at / 1000).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "long" }));

export function moment(at) {
	if (at == null) return "–";
	return new Date(at / 1000).toISOString().replace("T", " ").replace(/\.\d+Z/, "Z");
}
