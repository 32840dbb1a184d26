// Dark or light: as the system has it, until it is switched.

const KEY = "gantt.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

export const theme = new EventTarget();

export function isDark() {
	const chosen = localStorage.getItem(KEY);
	return chosen ? chosen === "dark" : dark.matches;
}

function apply() {
	document.documentElement.dataset.theme = isDark() ? "dark" : "light";
	theme.dispatchEvent(new Event("change"));
}

export function toggle() {
	localStorage.setItem(KEY, isDark() ? "light" : "dark");
	apply();
}

dark.addEventListener("change", apply);
apply();

export function colour(name) {
	return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
