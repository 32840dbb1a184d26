// The token of this tab: in sessionStorage and request headers, nowhere else.

const KEY = "gantt.token";

export const session = new EventTarget();

export function token() {
	return sessionStorage.getItem(KEY) ?? "";
}

export function begin(given) {
	const seen = given.replace(/\p{C}/gu, "").trim();
	const fits = /^[ -~]+$/.test(seen);
	if (fits) sessionStorage.setItem(KEY, seen);
	session.dispatchEvent(fits ? new Event("begin") : new CustomEvent("end", { detail: "No header can hold this token. Copy it again." }));
}

/** `why`: shown with the form. */
export function end(why = "") {
	if (!token()) return; // of several refusals the first has ended it
	sessionStorage.removeItem(KEY);
	session.dispatchEvent(new CustomEvent("end", { detail: why }));
}
