// The API of this service, with the token of this tab. Nothing else is ever asked.

import { end, token } from "./session.js";

export const BASE = location.pathname.replace(/\/gantt\/ui\/?$/, "");

export class Refusal extends Error {
	constructor(status, detail, body = null) {
		super(detail);
		this.status = status;
		this.body = body;
	}
}

export function headers(more = {}) {
	return { "X-Auth-Token": token(), Accept: "application/json", "OpenStack-API-Version": "placement latest", ...more };
}

export function path(...steps) {
	return steps.map(encodeURIComponent).join("/");
}

function url(place, query) {
	const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined);
	const asked = new URLSearchParams(given).toString();
	return `${BASE}/${place}${asked ? `?${asked}` : ""}`;
}

async function send(method, place, query, body, signal) {
	const about = { method, headers: headers(), signal, credentials: "omit", cache: "no-store" };
	if (body !== undefined) {
		about.headers["Content-Type"] = "application/json";
		about.body = JSON.stringify(body);
	}
	let answer;
	try {
		answer = await fetch(url(place, query), about);
	} catch (error) {
		if (error.name === "AbortError") throw error;
		throw new Refusal(0, "The service does not answer.");
	}
	if (!answer.ok) throw await refusal(answer);
	return answer.status === 204 ? null : answer.json();
}

export async function refusal(answer) {
	let body = null;
	try {
		body = await answer.json();
	} catch {
	}
	const said = body?.errors?.[0]?.detail ?? body?.message ?? answer.statusText;
	if (answer.status === 401) end("The token is not valid, or no longer.");
	return new Refusal(answer.status, said, body);
}

export function get(place, query = {}, signal = undefined) {
	return send("GET", place, query, undefined, signal);
}

export function post(place, body, signal = undefined) {
	return send("POST", place, {}, body, signal);
}

/** What `place`, which needs no token, says as text, whatever the status. */
export async function probe(place, signal) {
	try {
		const answer = await fetch(`${BASE}/${place}`, { signal, credentials: "omit", cache: "no-store" });
		return await answer.text();
	} catch {
		throw new Refusal(0, "The service does not answer.");
	}
}
