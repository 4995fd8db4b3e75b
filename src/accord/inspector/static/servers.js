// Which server the page shows, its connection, and signing in to it.

import { ask } from "./api.js";
import { button, h, show } from "./dom.js";
import { brief, clip, visible } from "./text.js";

const KEY = "accord-server";

// The number of the server that this tab shows.
export function chosenServer(many) {
  const found = Number(sessionStorage.getItem(KEY) ?? 0);
  return Number.isInteger(found) && found >= 0 && found < many ? found : 0;
}

export function serverSelect(servers, chosen, onChange) {
  const select = h(
    "select",
    {
      "aria-label": "Server",
      onchange: () => {
        sessionStorage.setItem(KEY, select.value);
        onChange(Number(select.value));
      },
    },
    servers.map(({ name, isConnected }, at) =>
      h("option", { value: String(at) }, `${brief(visible(name), 40)}${isConnected ? "" : " (not connected)"}`),
    ),
  );
  select.value = String(chosen);
  return select;
}

// A sign-in that waits for a person; its page is opened by that person only.
export function signInNotice({ signInPage }) {
  if (typeof signInPage !== "string" || !/^https?:\/\//i.test(signInPage)) return null;
  return h(
    "div",
    { class: "notice info", role: "alert" },
    h("strong", {}, "This server requires a sign-in. "),
    h("a", { href: signInPage, target: "_blank", rel: "noopener noreferrer" }, "Open the sign-in page"),
    h("p", { class: "muted" }, h("code", {}, clip(new URL(signInPage).origin, 200))),
  );
}

export function signInActions(page) {
  const run = async (verb, words) => {
    try {
      page.say(words);
      await ask(verb);
    } catch (error) {
      page.trouble(error);
    }
    await page.open();
  };
  return h(
    "span",
    { class: "signing" },
    button("Sign in", () => run("sign-in", "Opening the sign-in page …"), { class: "small" }),
    button("Sign out", () => run("sign-out", "Signing out …"), { class: "small" }),
  );
}

// Why there is no server to show, with ways to get one.
export function unconnected(page, failure) {
  return h(
    "div",
    { class: "work" },
    h(
      "div",
      { class: "banner", role: "alert" },
      h("strong", {}, "Not connected"),
      h("p", {}, clip(failure, 2000)),
      h(
        "p",
        { class: "actions" },
        button("Connect again", () => page.reconnect(), { class: "primary" }),
        page.about?.hasSignIn && signInActions(page),
      ),
    ),
  );
}

export function showIn(place, element) {
  show(place, element);
  place.hidden = !element;
}
