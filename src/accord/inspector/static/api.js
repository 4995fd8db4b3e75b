// The page's own API. Its token comes with the page, or after the # of the link that was printed.

import { parse } from "./json.js";

const KEY = "accord-token";

export class Stopped extends Error {}
export class Refused extends Error {}
export class Stale extends Error {}

function findToken() {
  const linked = /^#token=([\w-]+)$/.exec(location.hash);
  if (linked) {
    sessionStorage.setItem(KEY, linked[1]);
    history.replaceState(null, "", location.pathname);
  }
  return document.querySelector('meta[name="accord-token"]').content || sessionStorage.getItem(KEY) || "";
}

const token = findToken();

// `body` is JSON text, so that numbers stay as they were typed.
export async function ask(verb, body = "{}", signal = undefined) {
  const headers = { "content-type": "application/json", "x-accord-token": token };
  let response;
  let text;
  try {
    response = await fetch(`inspector/api/${verb}`, { method: "POST", headers, body, signal });
    text = await response.text();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Stopped(
      "The server does not answer. Start it again in your terminal; this page goes on by itself.",
    );
  }
  if (response.status === 403) {
    throw new Stale(
      token
        ? "The server was started again since this page was opened. Reload the page, or open the link that the terminal shows."
        : "This page needs the token of its start: open the link that the terminal shows.",
    );
  }
  const said = parse(text);
  if (!response.ok) throw new Refused(said.error?.message ?? `HTTP ${response.status}`);
  return said;
}
