// A reading for a person: a table, a card, a banner, an image.

import { attachments } from "./attachments.js";
import { json, prose } from "./code.js";
import { button, empty, h, show } from "./dom.js";
import { Exact, isObject, shown, stringify } from "./json.js";
import { brief, clip, count } from "./text.js";

const ROWS = 50;
const COLUMNS = 12;
const CELL = 160;
const MEMBERS = 200;
const DEEPEST = 3;
const FEW = 20;
const FIELDS = ["fields", "validation_errors", "validationErrors"];
const NOTHING = { isOpen: false, questions: [] };
const SEVERITIES = new Set(["info", "warning", "error"]);
const TITLES = new Map([
  ["VALIDATION_ERROR", "The arguments do not fit"],
  ["NOT_FOUND", "Not found"],
  ["UNAUTHENTICATED", "Not signed in"],
  ["FORBIDDEN", "Not allowed"],
  ["CONFLICT", "Conflict"],
  ["RATE_LIMITED", "Too many calls"],
  ["TIMEOUT", "It took too long"],
  ["UNAVAILABLE", "Not available"],
  ["INTERNAL_ERROR", "The tool broke"],
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
    return data.length ? table(data, response) : empty("Nothing was found", "The list is empty.");
  }
  if (isText(response)) return prose(String(response.data.text), "Text of the answer");
  if (isObject(data) && Object.keys(data).length) return card(data);
  return response.message ? null : empty("Done", "The tool has nothing to say.");
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
    typeof hint === "string" && h("p", { class: "hint" }, `What helps: ${hint}`),
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

// A table of one screen at a time; a row shows all of itself below. Rows are counted from where their page begins.
function table(items, { summary, pagination } = {}) {
  const isRows = items.every(isObject);
  const names = new Set();
  if (isRows) for (const item of items) for (const name of Object.keys(item)) names.add(name);
  const columns = [...names].slice(0, COLUMNS);
  const head = h(
    "tr",
    {},
    h("th", { scope: "col", class: "number" }, "#"),
    (isRows ? columns : ["value"]).map((name) => h("th", { scope: "col" }, brief(name, 60))),
  );
  const rows = h("tbody");
  const detail = h("div", { class: "detail", "aria-live": "polite" });
  const where = h("span", { class: "muted" });
  const back = button("Previous", () => turn(-1), { class: "quiet" });
  const on = button("Next", () => turn(1), { class: "quiet" });
  const { offset } = pagination ?? {};
  const isPlaced = Number.isSafeInteger(offset) && offset >= 0;
  const first = isPlaced ? offset + 1 : 1;
  let page = 0;

  const open = (item, row) => {
    for (const each of rows.children) each.classList.toggle("open", each === row);
    show(detail, isObject(item) ? card(item) : prose(shown(item), "Item"));
  };
  const draw = () => {
    const start = page * ROWS;
    const some = items.slice(start, start + ROWS);
    show(
      rows,
      some.map((item, at) => tableRow(item, first + start + at, isRows ? columns : null, open)),
    );
    show(detail);
    show(where, `Rows ${range(first + start, some.length)} of ${total(items, summary?.total, isPlaced)}`);
    back.disabled = page === 0;
    on.disabled = start + ROWS >= items.length;
  };
  const turn = (step) => {
    page += step;
    draw();
  };
  draw();
  const left = names.size - columns.length;
  return h(
    "div",
    {},
    h(
      "div",
      { class: "scroller", tabindex: "0", role: "region", "aria-label": "Items of the answer" },
      h("table", {}, h("thead", {}, head), rows),
    ),
    h(
      "div",
      { class: "pager" },
      where,
      left > 0 && h("span", { class: "muted" }, `${count(left, "further column")} in each row`),
      items.length > ROWS && h("span", { class: "turns" }, back, on),
    ),
    detail,
  );
}

function range(first, many) {
  return `${first.toLocaleString("en")}–${(first + many - 1).toLocaleString("en")}`;
}

function total(items, all, isPlaced) {
  const here = items.length.toLocaleString("en");
  if (typeof all !== "number" || all === items.length) return here;
  const whole = all.toLocaleString("en");
  if (!isPlaced) return `${here} here, ${whole} in all`;
  return items.length > ROWS ? `${whole}, ${here} of them here` : whole;
}

function tableRow(item, number, columns, open) {
  const opener = button(String(number), () => open(item, row), {
    class: "opener",
    "aria-label": `Show row ${number}`,
  });
  const cells = columns
    ? columns.map((name) => (Object.hasOwn(item, name) ? cell(item[name]) : h("td")))
    : [cell(item)];
  const row = h(
    "tr",
    { onclick: (event) => event.target === opener || open(item, row) },
    h("td", { class: "number" }, opener),
    cells,
  );
  return row;
}

function cell(value) {
  if (typeof value === "number" || value instanceof Exact)
    return h("td", { class: "number" }, stringify(value));
  if (value === null || typeof value === "boolean") return h("td", { class: "word" }, String(value));
  return h(
    "td",
    { class: typeof value === "string" ? "" : "nested" },
    h("div", { class: "cell" }, clip(shown(value), CELL)),
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
      : value || h("span", { class: "muted" }, "empty text");
  if (isFew(value)) return value.map(shown).join(", ");
  if (isObject(value) && Object.keys(value).length && depth < DEEPEST) return card(value, depth + 1);
  if (Array.isArray(value) && value.length && depth < DEEPEST) return table(value);
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
