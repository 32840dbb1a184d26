// The API of this service, with the token of this tab. Nothing else is ever asked.

import { end, token } from "./session.js";

const BASE = location.pathname.replace(/\/gantt\/ui\/?$/, "");

let ahead;

class Refusal extends Error {
	constructor(status, detail) {
		super(String(detail).replace(/\s+/g, " "));
		this.status = status;
	}
}

/** An answer, whatever its status; no redirect takes secrets elsewhere. */
async function ask(place, about) {
	try {
		const answer = await fetch(`${BASE}/${place}`, { ...about, credentials: "omit", cache: "no-store", redirect: "error" });
		ahead = Date.parse(answer.headers.get("date")) - Date.now() || 0;
		return answer;
	} catch (error) {
		throw error.name === "AbortError" ? error : new Refusal(0, "The service does not answer.");
	}
}

/** The service's clock, in microseconds, as far as it is known. */
export const clock = () => (Date.now() + (ahead ?? 0)) * 1000;

/** The service's clock, in ms. */
export async function now() {
	if (ahead === undefined) await probe("livez");
	return Date.now() + ahead;
}

export async function answered(place, about) {
	const answer = await ask(place, about);
	if (answer.ok) return answer;
	const body = await answer.json().catch(() => null);
	if (answer.status === 401) end("The token is not valid, or no longer.");
	throw new Refusal(answer.status, body?.errors?.[0]?.detail ?? body?.message ?? answer.statusText);
}

export function headers(more = {}) {
	return { "X-Auth-Token": token(), Accept: "application/json", "OpenStack-API-Version": "placement latest", ...more };
}

export async function get(place, query = {}, signal) {
	const given = Object.entries(query).filter(([, value]) => value != null);
	const asked = given.length ? `?${new URLSearchParams(given)}` : "";
	return (await answered(`${place}${asked}`, { headers: headers(), signal })).json();
}

/** The first `limit` things of a list that `query` means, page by page. */
export async function list(place, name, limit, signal, query = {}) {
	const found = [];
	for (let after; after !== "" && found.length < limit;) {
		const page = await get(place, { ...query, limit: limit - found.length, after }, signal);
		found.push(...page[name]);
		after = page.next;
	}
	return found;
}

export async function post(place, body, signal) {
	const about = { method: "POST", headers: headers({ "Content-Type": "application/json" }), body: JSON.stringify(body), signal };
	return (await answered(place, about)).json();
}

/** What `place` says as text, whatever the status. */
export async function probe(place, signal) {
	return (await ask(place, { signal })).text();
}
