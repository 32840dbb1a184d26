// The shell: navigation, sign-in, and one page at a time.

import { get } from "./api.js";
import { CapacityView } from "./capacity.js";
import { DecisionsView } from "./decisions.js";
import { button, el, fill } from "./elements.js";
import { FleetView } from "./fleet.js";
import { HealthView } from "./health.js";
import { InstancesView } from "./instances.js";
import { live } from "./live.js";
import { login } from "./login.js";
import { ProjectView } from "./project.js";
import { current, link, route } from "./router.js";
import { finder } from "./search.js";
import { end, session, token } from "./session.js";
import { ShadowView } from "./shadow.js";
import { isDark, theme, toggle } from "./theme.js";
import { TryView } from "./try.js";

const root = document.getElementById("app");
const VIEWS = { Fleet: FleetView, Instances: InstancesView, Decisions: DecisionsView, Try: TryView, Capacity: CapacityView, Shadow: ShadowView, Health: HealthView };
// In the order of the navigation. `update(params)` of each is called at once, and whenever
// what the address says changes; then `close()`.
const PAGES = Object.entries(VIEWS).map(([title, View]) => ({ name: title.toLowerCase(), title, View }));
const STATES = { off: "not connected", live: "live", polling: "polling: no stream to be had", lost: "the service does not answer" };

let page = null; // what is open: { about, opened }
let main = null;

function shell() {
	const links = PAGES.map((one) => el("a", { href: link(one.name), data: { page: one.name } }, one.title));
	const state = el("span.live", { role: "status" });
	const tell = () => {
		state.dataset.state = live.state;
		fill(state, el("i"), live.state);
		state.title = STATES[live.state];
	};
	const shade = button("", toggle, { title: "Dark or light", "aria-label": "Dark or light" });
	const paint = () => fill(shade, isDark() ? "☀" : "☾");
	live.addEventListener("state", tell);
	theme.addEventListener("change", paint);
	tell();
	paint();
	main = el("main", { id: "main", tabindex: "-1" });
	root.replaceChildren(
		el("a.skip", { href: "#main", on: { click: (event) => { event.preventDefault(); main.focus(); } } }, "To the content"),
		el("header.top",
			el("h1.brand", "Gantt"),
			el("nav", { "aria-label": "Pages" }, links),
			el("span.grow"),
			finder(),
			state,
			shade,
			button("Sign out", () => end()),
		),
		main,
		el("div.spoken", { id: "said", "aria-live": "polite" }),
	);
}

function show() {
	if (!main) return;
	const { page: name, params } = current();
	const about = PAGES.find((one) => one.name === name) ?? PAGES[0];
	if (about.name !== name) history.replaceState(null, "", link(about.name, params));
	if (page?.about !== about) {
		page?.opened.close();
		main.replaceChildren(el("h2.spoken", about.title));
		page = { about, opened: new ("member" in root.dataset && about.View === FleetView ? ProjectView : about.View)(main) };
		document.title = `${about.title} · Gantt`;
		for (const one of root.querySelectorAll("nav a")) one.ariaCurrent = one.dataset.page === about.name ? "page" : null;
	}
	page.opened.update(params);
}

function begin() {
	delete root.dataset.member;
	shell();
	live.start();
	show();
	// The page Fleet finds it out by itself, at once.
	if (page.about.View !== FleetView) get("gantt/hosts", { limit: 1 }).catch((error) => { if (error.status === 403) limit(); });
}

/** Offer what a member of a project may see. */
function limit() {
	if (!main || "member" in root.dataset) return;
	root.dataset.member = "";
	fill(root.querySelector("nav a"), "Project");
	if (page.about.View !== FleetView) return;
	page.opened.close();
	page = null;
	show();
}

function leave(event) {
	page?.opened.close();
	page = main = null;
	live.stop();
	login(root, event?.detail ?? "");
}

session.addEventListener("begin", begin);
session.addEventListener("end", leave);
session.addEventListener("member", limit);
route.addEventListener("change", show);
if (token()) begin();
else leave();
