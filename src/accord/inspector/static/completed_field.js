// A field of one line whose value the server completes while it is typed.

import { ask } from "./api.js";
import { h, identity, show } from "./dom.js";
import { decoded, isObject } from "./json.js";
import { clip } from "./text.js";

const PAUSE = 150;
const MOST = 50;

// `reference` is the prompt or template of the completion, `others` returns the values of the other fields.
export function completedField({ name, description, required }, reference, others) {
  const id = identity("argument");
  const list = h("datalist", { id: identity("completions") });
  const note = h("p", { class: "fault", hidden: true });
  const control = h("input", {
    type: "text",
    id,
    list: list.id,
    autocomplete: "off",
    spellcheck: "false",
    "aria-required": required ? "true" : null,
  });
  let pause;
  let latest = 0;
  const complete = async () => {
    latest += 1;
    const current = latest;
    const context = others();
    delete context[name];
    const params = {
      ref: reference,
      argument: { name, value: control.value },
      ...(Object.keys(context).length ? { context: { arguments: context } } : {}),
    };
    const { reply } = await ask("request", JSON.stringify({ method: "completion/complete", params }));
    if (current === latest) offer(list, decoded(reply));
  };
  const soon = () => {
    clearTimeout(pause);
    pause = setTimeout(() => complete().catch(() => {}), PAUSE);
  };
  control.addEventListener("input", soon);
  control.addEventListener("focus", soon);
  return {
    name,
    required,
    get value() {
      return control.value;
    },
    set value(value) {
      control.value = typeof value === "string" ? value : "";
    },
    complain(words) {
      show(note, words);
      note.hidden = !words;
      control.setAttribute("aria-invalid", String(Boolean(words)));
      if (words) control.focus();
    },
    element: h(
      "div",
      { class: "field" },
      h(
        "div",
        { class: "heading" },
        h("label", { for: id, class: "label" }, name, required && h("span", { class: "required" }, " required")),
      ),
      typeof description === "string" && description && h("p", { class: "description" }, clip(description, 400)),
      control,
      list,
      note,
    ),
  };
}

function offer(list, reply) {
  const found = isObject(reply?.result?.completion) ? reply.result.completion.values : [];
  const values = (Array.isArray(found) ? found : []).filter((each) => typeof each === "string");
  show(
    list,
    values.slice(0, MOST).map((value) => h("option", { value })),
  );
}
