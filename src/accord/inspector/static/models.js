// What each client's model sees: the text, the structure, or both.

import { code } from "./code.js";
import { button, copy, h } from "./dom.js";
import { isObject, stringify } from "./json.js";
import { bytes, count, sizeOf, tokens } from "./text.js";

const SHOWN = 20_000;

export function models(reply) {
  const { text, structure } = channels(reply);
  const both = [text, structure].filter((each) => each !== null).join("\n");
  return h(
    "div",
    { class: "models" },
    view("Text only", text, "Nothing: the reply has no text."),
    view("Structure only", structure, "Nothing: this wording has no structured content."),
    view("Both", text === null && structure === null ? null : both, "Nothing at all."),
  );
}

function channels(reply) {
  if (isObject(reply.error)) return { text: String(reply.error.message ?? ""), structure: null };
  const result = isObject(reply.result) ? reply.result : {};
  const blocks = Array.isArray(result.content) ? result.content.filter(isObject) : [];
  const text = blocks
    .map((block) => (block.type === "text" ? String(block.text) : `[${block.type}]`))
    .join("\n");
  const structure = result.structuredContent === undefined ? null : stringify(result.structuredContent);
  return { text: blocks.length ? text : null, structure };
}

function view(title, text, nothing) {
  const estimate =
    text === null
      ? null
      : h("span", { class: "muted" }, `about ${count(tokens(text), "token")}, ${bytes(sizeOf(text))}`);
  return h(
    "section",
    { class: "pane", "aria-label": title },
    h(
      "header",
      {},
      h("h3", {}, title),
      estimate,
      text !== null && button("Copy", () => copy(text), { class: "small" }),
    ),
    text === null ? h("p", { class: "muted pad" }, nothing) : code(text.slice(0, SHOWN).split("\n"), title),
  );
}
