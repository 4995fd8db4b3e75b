// One resource, or a template with its variables: read it, and watch it for changes.

import { CallView } from "./call_view.js";
import { completedField } from "./completed_field.js";
import { button, h, show } from "./dom.js";
import { isObject, parse, stringify } from "./json.js";
import { brief, bytes, clip } from "./text.js";

const EXPRESSION = /\{([+#./;?&]?)([\w.,*:-]+)\}/g;
const SEPARATORS = { "": ",", "+": ",", "#": ",", ".": ".", "/": "/", ";": ";", "?": "&", "&": "&" };
const NAMED = new Set([";", "?", "&"]);

export class ResourceView extends CallView {
  kind = "resource";
  method = "resources/read";

  constructor(page, resource) {
    super(page, resource.uri ?? resource.uriTemplate, resource);
    this.isTemplate = resource.uri === undefined;
    const reference = { type: "ref/resource", uri: this.name };
    this.fields = (this.isTemplate ? variablesOf(this.name) : []).map((name) =>
      completedField({ name, required: false }, reference, () => this.values()),
    );
    this.uri = h("code", { class: "uri" });
    this.watching = button("Watch for changes", () => this.watchIt(), {
      class: "quiet",
      "aria-pressed": "false",
    });
    const facts = [
      typeof resource.mimeType === "string" && brief(resource.mimeType, 80),
      Number.isFinite(Number(resource.size ?? undefined)) && bytes(Number(resource.size)),
    ].filter(Boolean);
    this.element = h(
      "div",
      { class: "work", onkeydown: (event) => this.onKeys(event), oninput: () => this.drawUri() },
      h(
        "header",
        { class: "title" },
        h(
          "h1",
          {},
          h("code", {}, brief(String(resource.title ?? resource.name ?? this.name), 200)),
          h("span", { class: "mark" }, this.isTemplate ? "resource template" : "resource"),
        ),
        h("p", {}, h("code", {}, clip(this.name, 500)), " ", h("span", { class: "muted" }, facts.join(", "))),
        this.description,
      ),
      this.isTemplate &&
        h(
          "div",
          { class: "arguments fields" },
          h("div", { class: "members" }, this.fields.map((field) => field.element)),
          this.uri,
        ),
      this.actions("Read", [this.watching, h("span", { class: "copies" }, this.levels())]),
      this.place,
    );
    this.drawUri();
    show(this.place, this.waiting());
  }

  drawUri() {
    show(this.uri, clip(this.target(), 500));
    this.watching.setAttribute("aria-pressed", String(this.page.watched.has(this.target())));
  }

  values() {
    return Object.fromEntries(this.fields.filter(({ value }) => value !== "").map(({ name, value }) => [name, value]));
  }

  target() {
    return this.isTemplate ? filled(this.name, this.values()) : this.name;
  }

  // The variables of a template are its arguments in the history.
  read() {
    return stringify(this.values());
  }

  request(text) {
    return super.request(this.isTemplate ? "{}" : text);
  }

  write(text) {
    const values = parse(text);
    for (const field of this.fields) field.value = isObject(values) ? values[field.name] : "";
    this.drawUri();
  }

  complain() {}

  watchIt() {
    this.page.toggleWatch(this.target());
    this.drawUri();
  }
}

export function variablesOf(template) {
  const found = [...template.matchAll(EXPRESSION)].flatMap(([, , names]) => names.split(","));
  return [...new Set(found.map((name) => name.replace(/(\*|:\d+)$/, "")))].slice(0, 50);
}

// RFC 6570, for values that are strings.
export function filled(template, values) {
  return template.replace(EXPRESSION, (_, operator, names) => {
    const encode = operator === "+" || operator === "#" ? reserved : strict;
    const parts = names.split(",").flatMap((name) => {
      const [, plain, , most] = /^(.*?)(\*|:(\d+))?$/.exec(name);
      if (!Object.hasOwn(values, plain)) return [];
      const value = encode(most === undefined ? values[plain] : values[plain].slice(0, Number(most)));
      return NAMED.has(operator) ? [`${plain}${value || operator !== ";" ? "=" : ""}${value}`] : [value];
    });
    if (!parts.length) return "";
    return (operator === "+" ? "" : operator) + parts.join(SEPARATORS[operator]);
  });
}

function strict(text) {
  return encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function reserved(text) {
  return encodeURI(text.toWellFormed()).replace(/%5B/g, "[").replace(/%5D/g, "]");
}
