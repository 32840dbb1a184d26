// The token of this tab: in sessionStorage and request headers, nowhere else.

const KEY = "gantt.token";

export const session = new EventTarget();

export function token() {
	return sessionStorage.getItem(KEY) ?? "";
}

export function begin(given) {
	sessionStorage.setItem(KEY, given.replace(/[^ -~]/g, ""));
	session.dispatchEvent(new Event("begin"));
}

/** `why`: shown with the form that asks for another token. */
export function end(why = "") {
	if (!token()) return; // of several refusals the first has ended it
	sessionStorage.removeItem(KEY);
	session.dispatchEvent(new CustomEvent("end", { detail: why }));
}
