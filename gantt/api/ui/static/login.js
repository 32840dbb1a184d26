// Asks for a token.

import { get, post } from "./api.js";
import { button, el, fill } from "./elements.js";
import { begin } from "./session.js";

const HINTS = {
	noauth2: "This service believes every token: USER or USER:PROJECT; admin has the role admin.",
	token: "A token of the service's tokens file.",
	keystone: "A token of Keystone, as `openstack token issue` prints it.",
};

const FIELDS = [
	["user", "User", "username"],
	["password", "Password", "current-password"],
	["project", "Project", "off"],
	["user_domain", "Domain of the user", "off"],
	["project_domain", "Domain of the project", "off"],
];

function field(name, label, complete) {
	const isSecret = name === "password" || name === "token";
	const input = el("input", {
		id: name, name, type: isSecret ? "password" : "text", required: true,
		autocomplete: complete, spellcheck: "false", autocapitalize: "off",
		value: name.endsWith("domain") ? "Default" : null,
	});
	return [el("label", { for: name }, label), input];
}

async function exchange(form, wrong) {
	const given = Object.fromEntries(FIELDS.map(([name]) => [name, form.elements[name].value]));
	try {
		begin((await post("gantt/ui/sign-in", given)).token);
	} catch (error) {
		fill(wrong, error.message);
		form.elements.password.value = "";
		form.elements.password.focus();
	}
}

export async function login(root, why) {
	root.replaceChildren();
	const known = await get("gantt/ui/settings.json").catch(() => ({}));
	const wrong = el("p.wrong", { role: "alert" }, why);
	const show = (takesPassword) => {
		const other = button(takesPassword ? "Use a token" : "Use a password of Keystone", () => show(!takesPassword), { class: "link" });
		const form = el("form.login", { on: { submit } },
			el("h1", "Gantt"),
			wrong,
			takesPassword ? FIELDS.map((one) => field(...one)) : [field("token", "Token", "off"), el("p.hint", HINTS[known.auth])],
			el("button.primary", "Sign in"),
			known.takes_passwords && other,
			el("p.hint", "The token stays in this tab, and is sent as a header to this service only."));
		function submit(event) {
			event.preventDefault();
			if (takesPassword) exchange(form, wrong);
			else begin(form.elements.token.value);
		}
		root.replaceChildren(el("main", form));
		form.querySelector("input").focus();
	};
	show(known.takes_passwords);
}
