// What is shown is in the fragment of the address, #/PAGE?name=value; no server sees it.

export const route = new EventTarget();
const tell = () => route.dispatchEvent(new Event("change"));

export function current() {
	const [place, query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
	return { page: place, params: Object.fromEntries(new URLSearchParams(query)) };
}

export function link(page, params = {}) {
	const given = Object.entries(params).filter(([, value]) => value !== "" && value != null);
	const query = new URLSearchParams(given).toString();
	return `#/${page}${query ? `?${query}` : ""}`;
}

/** Change some parameters of this page; `quietly`: without an entry in the history. */
export function change(params, quietly = false) {
	const here = current();
	const target = link(here.page, { ...here.params, ...params });
	if (target === location.hash) return;
	if (quietly) {
		history.replaceState(null, "", target);
		tell();
	} else location.hash = target;
}

addEventListener("hashchange", tell);
