// One tool: its description and the form for its arguments.

import { ask, later } from "./api.js";
import { CallView } from "./call_view.js";
import { json } from "./code.js";
import { button, copy, h, show } from "./dom.js";
import { Form } from "./form.js";
import { isObject, lines, parse, stringify } from "./json.js";
import { brief, clip } from "./text.js";

const HINTS = {
  readOnlyHint: "read-only",
  destructiveHint: "destructive",
  idempotentHint: "idempotent",
  openWorldHint: "open world",
};
const PAUSE = 350;
export const loadSnippets = () => later(() => import("./call_snippets.js"));

// True if a title says more than the name.
function isOther(title, name) {
  const plain = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
  return typeof title === "string" && plain(title) !== "" && plain(title) !== plain(name);
}

export class ToolView extends CallView {
  kind = "tool";
  method = "tools/call";

  constructor(page, tool) {
    super(page, tool.name, tool);
    this.tool = tool;
    this.schema = isObject(tool.inputSchema) ? tool.inputSchema : {};
    this.form = new Form(this.schema);
    this.isJson = false;
    this.hasFailed = false;
    this.element = h(
      "div",
      { class: "work" },
      this.title(),
      this.arguments(),
      this.buttons(),
      this.place,
    );
    show(this.place, this.waiting());
    this.fields.addEventListener("input", () => this.recheck());
    this.fields.addEventListener("keydown", (event) => this.onKeys(event));
  }

  title() {
    const { tool } = this;
    const marks = isObject(tool.annotations)
      ? Object.entries(HINTS).filter(([name]) => tool.annotations[name] === true)
      : [];
    const schemas = ["inputSchema", "outputSchema", "annotations", "_meta"]
      .filter((name) => isObject(tool[name]))
      .map((name) => h("div", {}, h("h3", {}, name), json(tool[name], name)));
    return h(
      "header",
      { class: "title" },
      h(
        "h1",
        {},
        h("code", {}, brief(tool.name, 200) || '""'),
        marks.map(([name, words]) => h("span", { class: `mark ${name}` }, words)),
      ),
      isOther(tool.title, tool.name) && h("p", { class: "label" }, clip(tool.title, 200)),
      this.description,
      schemas.length > 0 && h("details", {}, h("summary", {}, "Schemas"), h("div", { class: "schemas" }, schemas)),
    );
  }

  arguments() {
    this.raw = h("textarea", {
      class: "json raw",
      rows: "8",
      spellcheck: "false",
      "aria-label": "Arguments as JSON",
    });
    this.rawError = h("p", { class: "fault", hidden: true, role: "alert" });
    this.toggle = button("Edit as JSON", () => this.switchMode(), {
      class: "quiet",
      "aria-pressed": "false",
    });
    this.nothing = this.form.isEmpty ? h("p", { class: "muted" }, "This tool takes no arguments.") : null;
    this.jsonPlace = h("div", { hidden: true }, this.raw, this.rawError);
    this.fields = h(
      "div",
      { class: "arguments" },
      h("h2", { class: "offstage" }, "Arguments"),
      this.nothing,
      this.form.element,
      this.jsonPlace,
    );
    return this.fields;
  }

  buttons() {
    this.anyway = button("Call anyway", () => this.call({ checks: false }), { class: "quiet", hidden: true });
    const kinds = ["curl", "CLI", "Python"].map((kind) =>
      button(kind, () => this.copyAs(kind), { class: "small", "aria-label": `Copy as ${kind}` }),
    );
    this.taskBox = h("input", { type: "checkbox" });
    return this.actions("Call", [
      this.toggle,
      this.anyway,
      h(
        "span",
        { class: "copies" },
        h("label", { class: "check", title: "The server may run the call as a task" }, this.taskBox, "As a task"),
        this.levels(),
        h("span", { class: "muted" }, "Copy as"),
        kinds,
      ),
    ]);
  }

  get asTask() {
    return this.taskBox.checked;
  }

  // Return the arguments as JSON text, or null if they are invalid.
  read() {
    if (!this.isJson) {
      const { text, faults } = this.form.read();
      this.form.complain(faults);
      return faults.length ? null : text;
    }
    const text = this.raw.value.trim() || "{}";
    try {
      if (!isObject(parse(text))) throw new SyntaxError("a JSON object is needed");
      this.complainRaw([]);
      return text;
    } catch (error) {
      this.complainRaw([{ field: "", error: `The arguments must be a JSON object: ${error.message}` }]);
      return null;
    }
  }

  complain(errors, options) {
    if (this.isJson) this.complainRaw(errors);
    else this.form.complain(errors, options);
  }

  complainRaw(errors) {
    show(this.rawError, errors.map(({ field, error }) => `${field} ${error}`.trim()).join("; "));
    this.rawError.hidden = !errors.length;
    this.raw.setAttribute("aria-invalid", String(errors.length > 0));
  }

  write(text) {
    const value = parse(text);
    this.form.write(value);
    this.raw.value = lines(value).join("\n");
  }

  switchMode() {
    const text = this.read();
    if (text === null) return;
    this.write(text);
    this.isJson = !this.isJson;
    this.jsonPlace.hidden = !this.isJson;
    this.form.element.hidden = this.isJson;
    if (this.nothing) this.nothing.hidden = this.isJson;
    this.toggle.setAttribute("aria-pressed", String(this.isJson));
    show(this.toggle, this.isJson ? "Edit as a form" : "Edit as JSON");
    if (this.isJson) this.raw.focus();
  }

  // After a failed check, check again while typing.
  recheck() {
    if (!this.hasFailed) return;
    clearTimeout(this.pause);
    this.pause = setTimeout(async () => {
      const { text, faults } = this.isJson ? { text: this.raw.value, faults: [] } : this.form.read();
      try {
        const { fields } = await ask("check", this.request(text));
        this.complain([...faults, ...fields], { focus: false });
      } catch {
        // incomplete JSON, or no server: the call reports it
      }
    }, PAUSE);
  }

  async check(text, signal) {
    const { fields } = await ask("check", this.request(text), signal);
    this.hasFailed = fields.length > 0;
    this.anyway.hidden = !fields.length;
    if (fields.length) this.complain(fields);
    return !fields.length;
  }

  answered(record, text) {
    this.hasFailed = false;
    this.anyway.hidden = true;
    super.answered(record, text);
  }

  async copyAs(kind) {
    const text = this.read();
    if (text === null) return;
    const { copies } = await loadSnippets();
    const found = copies(this.page.about, this.tool.name, stringify(parse(text)), this.page.render)[kind];
    if (found === null) this.page.say("A server that is a command has no URL for curl");
    else copy(found, `Copied as ${kind}`);
  }
}
