// One prompt: its arguments, with completion, and the messages that it makes.

import { CallView } from "./call_view.js";
import { completedField } from "./completed_field.js";
import { h, show } from "./dom.js";
import { isObject, parse, stringify } from "./json.js";
import { brief, clip } from "./text.js";

const MOST = 100;

export class PromptView extends CallView {
  kind = "prompt";
  method = "prompts/get";

  constructor(page, prompt) {
    super(page, prompt.name, prompt);
    const reference = { type: "ref/prompt", name: prompt.name };
    const named = (Array.isArray(prompt.arguments) ? prompt.arguments : []).filter(
      (each) => typeof each?.name === "string",
    );
    this.fields = named
      .slice(0, MOST)
      .map(({ name, description, required }) =>
        completedField({ name, description, required: required === true }, reference, () => this.values()),
      );
    this.extra = [];
    this.element = h(
      "div",
      { class: "work", onkeydown: (event) => this.onKeys(event) },
      h(
        "header",
        { class: "title" },
        h("h1", {}, h("code", {}, brief(prompt.name, 200)), h("span", { class: "mark" }, "prompt")),
        typeof prompt.title === "string" && h("p", { class: "label" }, clip(prompt.title, 200)),
        this.description,
      ),
      h(
        "div",
        { class: "arguments fields" },
        this.fields.length
          ? h("div", { class: "members" }, this.fields.map((field) => field.element))
          : h("p", { class: "muted" }, "This prompt takes no arguments."),
      ),
      this.actions("Get", [h("span", { class: "copies" }, this.levels())]),
      this.place,
    );
    show(this.place, this.waiting());
  }

  values() {
    const given = this.fields.filter((field) => field.value !== "").map((field) => [field.name, field.value]);
    return Object.fromEntries([...this.extra, ...given]);
  }

  read() {
    for (const field of this.fields) field.complain("");
    const missing = this.fields.find((field) => field.required && field.value === "");
    missing?.complain("is required");
    return missing ? null : stringify(this.values());
  }

  write(text) {
    const given = parse(text);
    const values = isObject(given) ? given : {};
    for (const field of this.fields) field.value = values[field.name];
    const names = new Set(this.fields.map((field) => field.name));
    this.extra = Object.entries(values).filter(([name]) => !names.has(name));
  }

  complain() {}
}
