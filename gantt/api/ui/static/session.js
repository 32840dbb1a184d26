// The token of this tab: in sessionStorage and request headers, nowhere else.

const KEY = "gantt.token";

export const session = new EventTarget();

const UNSEEN = /[\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]/g; // copied along with a token

/** `given` as a header can hold it; "": it cannot. */
export function readable(given) {
	const found = given.replace(UNSEEN, "").trim();
	return /^[\x20-\x7e]+$/.test(found) ? found : "";
}

export function token() {
	return readable(sessionStorage.getItem(KEY) ?? "");
}

export function begin(given) {
	sessionStorage.setItem(KEY, given);
	session.dispatchEvent(new Event("begin"));
}

/** `why`: shown with the form that asks for another token. */
export function end(why = "") {
	if (!token()) return; // of several refusals the first has ended it
	sessionStorage.removeItem(KEY);
	session.dispatchEvent(new CustomEvent("end", { detail: why }));
}
