// Colours for amounts, by lightness and blue to yellow, for colour-blind eyes, too;
// the dark ones are after cividis (Nuñez, Anderton, Renslow, 2018).

const DARK = [[18, 45, 88], [73, 83, 109], [122, 121, 120], [178, 167, 112], [254, 232, 56]];
const LIGHT = [[214, 228, 241], [140, 183, 217], [66, 122, 178], [25, 66, 121], [8, 29, 66]];
export const STEPS = 48;
export const OVER = STEPS; // more than there is
export const NONE = STEPS + 1; // nothing of it there

function mixed(stops, part) {
	const at = part * (stops.length - 1);
	const low = Math.min(stops.length - 2, Math.floor(at));
	const [from, to] = [stops[low], stops[low + 1]];
	return from.map((one, channel) => Math.round(one + (to[channel] - one) * (at - low)));
}

export function palette(isDark) {
	const stops = isDark ? DARK : LIGHT;
	const found = Array.from({ length: STEPS }, (_, at) => `rgb(${mixed(stops, at / (STEPS - 1)).join(" ")})`);
	return [...found, "#d55e00", isDark ? "#262d36" : "#e6e8eb"];
}

export function inkOn(at, isDark) {
	if (at === OVER) return "#000000";
	return at < STEPS / 2 === isDark ? "#ffffff" : "#10161d";
}

export function step(value, least, most) {
	if (value == null || Number.isNaN(value)) return NONE;
	if (value > most) return OVER;
	const part = most > least ? (value - least) / (most - least) : 0;
	return Math.max(0, Math.min(STEPS - 1, Math.floor(part * STEPS)));
}
