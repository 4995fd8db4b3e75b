// A reading for a person: a table, a card, a banner, an image.

import { attachments } from "./attachments.js";
import { json, prose } from "./code.js";
import { button, empty, h } from "./dom.js";
import { Exact, isObject, shown, stringify } from "./json.js";
import { table } from "./table.js";
import { brief, clip, count } from "./text.js";

const CELL = 160;
const MEMBERS = 200;
const DEEPEST = 3;
const FEW = 20;
const FIELDS = ["fields", "validation_errors", "validationErrors"];
const NOTHING = { isOpen: false, questions: [] };
const SEVERITIES = new Set(["info", "warning", "error"]);
const TITLES = new Map([
  ["VALIDATION_ERROR", "Invalid arguments"],
  ["NOT_FOUND", "Not found"],
  ["UNAUTHENTICATED", "Not authenticated"],
  ["FORBIDDEN", "Not allowed"],
  ["CONFLICT", "Conflict"],
  ["RATE_LIMITED", "Too many calls"],
  ["TIMEOUT", "Timed out"],
  ["UNAVAILABLE", "Not available"],
  ["INTERNAL_ERROR", "The tool failed"],
]);

// `asked` are views of input requests, `follow` calls for the next page, if there is one.
export function person(reading, blocks, { asked = NOTHING, follow = null } = {}) {
  const { response } = reading;
  const parts = [];
  const { figures, links } = attachments(blocks);
  if (response.responseType === "error") parts.push(banner(response), ...figures);
  else if (!asked.isOpen) {
    if (response.message && !isText(response)) parts.push(h("p", { class: "message" }, response.message));
    parts.push(...figures, body(response));
  }
  parts.push(...asked.questions);
  for (const warning of (reading.warnings ?? []).filter(isObject)) {
    const severity = SEVERITIES.has(warning.severity) ? warning.severity : "warning";
    parts.push(h("p", { class: `notice ${severity}` }, shown(warning.message ?? warning)));
  }
  parts.push(...links);
  if (follow) {
    parts.push(
      h(
        "p",
        { class: "more" },
        button("Get the next page", follow, { class: "quiet" }),
        h("span", { class: "muted" }, "There is more on the server."),
      ),
    );
  }
  return h("div", { class: "person" }, parts);
}

function isText(response) {
  return isObject(response.data) && Object.keys(response.data).join() === "text";
}

function body(response) {
  const { data } = response;
  if (Array.isArray(data)) {
    return data.length ? table(data, { ...response, card, name: response.toolName ?? "rows" }) : empty("Empty list", "The tool returned no items.");
  }
  if (isText(response)) return prose(String(response.data.text), "Text of the answer");
  if (isObject(data) && Object.keys(data).length) return card(data);
  return response.message ? null : empty("Done", "The tool returned no data.");
}

function banner(response) {
  const error = response.error ?? {};
  const details = isObject(error.details) ? { ...error.details } : {};
  const fields = FIELDS.map((name) => details[name]).find(Array.isArray);
  const hint = details.remediation;
  for (const name of [...FIELDS, "remediation"]) delete details[name];
  return h(
    "div",
    { class: "banner", role: "alert" },
    h("strong", {}, TITLES.get(error.code) ?? "The call failed"),
    prose(shown(error.message ?? response.message ?? ""), "Message of the problem"),
    typeof hint === "string" && h("p", { class: "hint" }, `Suggested fix: ${hint}`),
    fields &&
      h(
        "ul",
        {},
        fields.filter(isObject).map((each) => h("li", {}, h("code", {}, each.field), ` ${each.error}`)),
      ),
    error.code !== "error" && h("p", { class: "muted" }, "Code ", h("code", {}, shown(error.code))),
    Object.keys(details).length ? h("details", {}, h("summary", {}, "Details"), card(details)) : null,
  );
}

export function card(data, depth = 1) {
  const members = Object.entries(data);
  const rows = members
    .slice(0, MEMBERS)
    .map(([name, value]) => [h("dt", {}, brief(name, CELL)), h("dd", {}, member(value, depth))]);
  const left = members.length - MEMBERS;
  if (left > 0) rows.push(h("dt", {}, "…"), h("dd", { class: "muted" }, `${count(left, "more member")}`));
  return h("dl", { class: "card" }, rows);
}

function member(value, depth) {
  if (typeof value === "string")
    return value.length > 400 || value.includes("\n")
      ? prose(value, "Text")
      : value || h("span", { class: "muted" }, "empty string");
  if (isFew(value)) return value.map(shown).join(", ");
  if (isObject(value) && Object.keys(value).length && depth < DEEPEST) return card(value, depth + 1);
  if (Array.isArray(value) && value.length && depth < DEEPEST) return table(value, { card });
  if (isObject(value) || Array.isArray(value)) return json(value, "Value");
  return h(
    "span",
    { class: typeof value === "number" || value instanceof Exact ? "figure" : "word" },
    stringify(value),
  );
}

function isFew(value) {
  if (!Array.isArray(value) || !value.length || value.length > FEW) return false;
  return value.every((each) => !isObject(each) && !Array.isArray(each));
}
