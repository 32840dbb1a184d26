// Asks for a token.

import { BASE } from "./api.js";
import { el } from "./elements.js";
import { begin } from "./session.js";

const HINTS = {
  noauth2: "This service believes every token: USER or USER:PROJECT; admin has the role admin.",
  token: "A token of the service's tokens file.",
  keystone: "A token of Keystone, as `openstack token issue` prints it.",
};

async function strategy() {
  try {
    return (await (await fetch(`${BASE}/gantt/ui/settings.json`)).json()).auth;
  } catch {
    return "";
  }
}

/** The form; `why` the last session ended. */
export function login(root, why) {
  const hint = el("p", { class: "hint" });
  const field = el("input", {
    id: "token", name: "token", type: "password", required: true,
    autocomplete: "off", spellcheck: "false",
  });
  const form = el(
    "form",
    {
      class: "login",
      on: {
        submit(event) {
          event.preventDefault();
          begin(field.value.trim());
        },
      },
    },
    el("h1", {}, "Gantt"),
    why && el("p", { class: "wrong", role: "alert" }, why),
    el("label", { for: "token" }, "Token"),
    field,
    hint,
    el("button", { type: "submit", class: "primary" }, "Sign in"),
    el("p", { class: "hint" }, "It stays in this tab, and is sent as a header to this service only."),
  );
  strategy().then((name) => {
    hint.textContent = HINTS[name] ?? "";
    if (name === "noauth2") field.type = "text";
  });
  root.replaceChildren(form);
  field.focus();
}
