// The page's API. Its token is in the page, or after the # of the printed link.

import { parse } from "./json.js";

const KEY = "accord-token";
const META = /<meta name="accord-token" content="([\w-]*)">/;

export class Stopped extends Error {}
export class Refused extends Error {}
export class Stale extends Error {}

// True if a link with another token was opened in this tab.
export function takeLinked() {
  const linked = /^#token=([\w-]+)$/.exec(location.hash);
  if (!linked) return false;
  sessionStorage.setItem(KEY, linked[1]);
  history.replaceState(null, "", location.pathname);
  return true;
}

takeLinked();
const brought = document.querySelector('meta[name="accord-token"]').content;
let token = brought || sessionStorage.getItem(KEY) || "";
let start = 1;

// The number of the server's start; call numbers of an earlier start are invalid.
export function currentStart() {
  return start;
}

// `body` is JSON text, so that numbers stay as they were typed.
export async function ask(verb, body = "{}", signal = undefined) {
  let [response, text] = await send(verb, body, signal);
  if (response.status === 403 && (await renew())) [response, text] = await send(verb, body, signal);
  if (response.status === 403) throw stale();
  let said;
  try {
    said = parse(text);
  } catch {
    throw new Refused(`The server answered with HTTP ${response.status} and a body that is not JSON.`);
  }
  if (!response.ok) throw new Refused(said.error?.message ?? `HTTP ${response.status}`);
  return said;
}

async function send(verb, body, signal) {
  const headers = { "content-type": "application/json", "x-accord-token": token };
  try {
    const response = await fetch(`inspector/api/${verb}`, { method: "POST", headers, body, signal });
    return [response, await response.text()];
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw stopped();
  }
}

// Load a module of the page on demand.
export async function later(load) {
  try {
    return await load();
  } catch {
    throw stopped();
  }
}

function stopped() {
  return new Stopped(
    "The server does not answer. Start it again in your terminal; this page reconnects by itself.",
  );
}

// Fetch the token of a later start, if the page contains one.
async function renew() {
  if (!brought) return false;
  const found = META.exec(
    await fetch("./", { cache: "no-store" }).then(
      (page) => page.text(),
      () => "",
    ),
  )?.[1];
  if (!found || found === token) return false;
  token = found;
  start += 1;
  return true;
}

function stale() {
  return new Stale(
    token
      ? "The server was restarted after this page was opened. Open the link in the terminal."
      : "This page needs its token: open the link in the terminal.",
  );
}
