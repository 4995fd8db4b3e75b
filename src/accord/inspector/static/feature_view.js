// Previews of prompts and resources.

import { attachments } from "./attachments.js";
import { prose } from "./code.js";
import { empty, h } from "./dom.js";
import { isObject, shown } from "./json.js";
import { brief, clip, count } from "./text.js";

const MOST = 100;

// The messages of a prompt, each with its role.
export function promptMessages(result) {
  const all = (Array.isArray(result.messages) ? result.messages : []).filter(isObject);
  const left = all.length - MOST;
  return h(
    "div",
    { class: "person" },
    typeof result.description === "string" && h("p", { class: "muted" }, clip(result.description, 2000)),
    all.length ? all.slice(0, MOST).map(promptMessage) : empty("No messages", "The prompt is empty."),
    left > 0 && h("p", { class: "muted" }, `and ${count(left, "more message")}`),
  );
}

function promptMessage({ role, content }) {
  const blocks = (Array.isArray(content) ? content : [content]).filter(isObject);
  const { figures, links } = attachments(blocks);
  return h(
    "section",
    { class: "said" },
    h("h3", {}, brief(shown(role ?? "?"), 40)),
    blocks
      .filter((block) => block.type === "text")
      .map((block) => prose(shown(block.text ?? ""), "Text of the message")),
    figures,
    links,
  );
}

// What a resource contains: text, or anything that can be shown.
export function contents(result) {
  const all = (Array.isArray(result.contents) ? result.contents : []).filter(isObject);
  if (!all.length) return empty("No contents", "The resource is empty.");
  const { figures, links } = attachments(all.map((resource) => ({ type: "resource", resource })));
  return h("div", { class: "person" }, figures, links);
}
