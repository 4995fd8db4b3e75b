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
let server = 0;

// All requests are for the server with this number.
export function chooseServer(number) {
  server = number;
}

// The number of the server's start; call numbers of an earlier start are invalid.
export function currentStart() {
  return start;
}

// `body` is JSON text, so that numbers stay as they were typed.
// `onMessages` is given the notifications that arrive before the result, and how many were left out.
export async function ask(verb, body = "{}", signal = undefined, onMessages = () => {}) {
  const number = server;
  let found = await send(verb, body, signal, number, onMessages);
  if (found.status === 403 && (await renew())) found = await send(verb, body, signal, number, onMessages);
  if (found.status === 403) throw stale();
  const { status, said } = found;
  if (said === undefined)
    throw new Refused(`The server answered with HTTP ${status} and a body that is not JSON.`);
  if (status !== 200) throw new Refused(said.error?.message ?? `HTTP ${status}`);
  return said;
}

async function send(verb, body, signal, number, onMessages) {
  const headers = {
    "content-type": "application/json",
    "x-accord-token": token,
    "x-accord-server": String(number),
  };
  try {
    const response = await fetch(`inspector/api/${verb}`, { method: "POST", headers, body, signal });
    if (response.headers.get("content-type")?.startsWith("text/event-stream"))
      return await followed(response.body, onMessages);
    return { status: response.status, said: parsed(await response.text()) };
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw stopped();
  }
}

// Read a stream of events; the last one is the result.
async function followed(body, onMessages) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  const parts = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw stopped();
    parts.push(value);
    if (!value.includes("\n")) continue;
    const lines = parts.join("").split("\n");
    parts.splice(0, parts.length, lines.pop());
    for (const line of lines) {
      if (!line.startsWith("data: {")) continue;
      const event = parsed(line.slice("data: ".length));
      if (event?.status !== undefined) return { status: event.status, said: event.body };
      if (event) onMessages(event.messages, event.omitted);
    }
  }
}

function parsed(text) {
  try {
    return parse(text);
  } catch {
    return undefined;
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
