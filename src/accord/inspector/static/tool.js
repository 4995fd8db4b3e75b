// One tool: its description, the form for its arguments, the call and its answer.

import { Stale, Stopped, ask, currentStart, later } from "./api.js";
import { json } from "./code.js";
import { copies } from "./call_snippets.js";
import { button, copy, empty, h, show } from "./dom.js";
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
const EXPIRED = { expired: true };
let answers = null;

// Load the view of answers; it is not needed before the first one.
export async function loadAnswers() {
  answers ??= await later(() => import("./answer.js"));
}

export class ToolView {
  constructor(page, tool) {
    this.page = page;
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
      this.actions(),
      (this.place = h("div", {}, this.waiting())),
    );
    this.fields.addEventListener("input", () => this.recheck());
    this.fields.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        this.call();
      }
    });
  }

  title() {
    const { tool } = this;
    const marks = isObject(tool.annotations)
      ? Object.entries(HINTS).filter(([name]) => tool.annotations[name] === true)
      : [];
    const schemas = ["inputSchema", "outputSchema"]
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
      typeof tool.title === "string" && h("p", { class: "label" }, clip(tool.title, 200)),
      typeof tool.description === "string" && h("p", { class: "description" }, clip(tool.description, 2000)),
      h("details", {}, h("summary", {}, "Schemas"), h("div", { class: "schemas" }, schemas)),
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
      class: "small",
      "aria-pressed": "false",
    });
    const nothing = this.form.isEmpty ? h("p", { class: "muted" }, "This tool takes no arguments.") : null;
    this.jsonPlace = h("div", { hidden: true }, this.raw, this.rawError);
    this.fields = h(
      "div",
      { class: "arguments" },
      h("div", { class: "heading" }, h("h2", {}, "Arguments"), this.toggle),
      nothing,
      this.form.element,
      this.jsonPlace,
    );
    return this.fields;
  }

  actions() {
    this.button = button("Call", () => this.call(), { class: "primary" });
    this.stop = button("Cancel", () => this.abort?.abort(), { class: "quiet", hidden: true });
    this.progress = h("span", { class: "muted", role: "status" });
    this.anyway = button("Call anyway", () => this.call({ checks: false }), { class: "quiet", hidden: true });
    const kinds = ["curl", "CLI", "Python"].map((kind) =>
      button(kind, () => this.copyAs(kind), { class: "small", "aria-label": `Copy as ${kind}` }),
    );
    return h(
      "div",
      { class: "actions" },
      this.button,
      this.stop,
      this.anyway,
      this.progress,
      h("span", { class: "copies" }, h("span", { class: "muted" }, "Copy as"), kinds),
    );
  }

  waiting() {
    return empty(
      "No answer yet",
      "Call the tool to see its answer for a person, as the generic response, and on the wire.",
    );
  }

  focus() {
    (this.form.element.querySelector("input, textarea, select") ?? this.button).focus({
      preventScroll: true,
    });
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
      if (!isObject(parse(text))) throw new SyntaxError("the arguments are an object");
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

  write(value) {
    this.form.write(value);
    this.raw.value = lines(value).join("\n");
  }

  switchMode() {
    const text = this.read();
    if (text === null) return;
    this.write(parse(text));
    this.isJson = !this.isJson;
    this.jsonPlace.hidden = !this.isJson;
    this.form.element.hidden = this.isJson;
    this.toggle.setAttribute("aria-pressed", String(this.isJson));
    show(this.toggle, this.isJson ? "Edit as a form" : "Edit as JSON");
    if (this.isJson) this.raw.focus();
  }

  request(text) {
    return `{"tool":${JSON.stringify(this.tool.name)},"arguments":${text},"render":${JSON.stringify(this.page.render)}}`;
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

  async call({ checks = true } = {}) {
    if (this.abort) return;
    const text = this.read();
    if (text === null) return;
    await this.during(async (signal) => {
      if (checks && !(await this.check(text))) return;
      this.leave();
      await loadAnswers();
      const record = await ask("call", this.request(text), signal);
      this.hasFailed = false;
      this.complain([]);
      this.answered(record, text);
    });
  }

  // Send input responses and wait for the result.
  async goOn(given) {
    const { record, text } = this;
    await this.during(async (signal) => {
      const next = this.isOfNow(record)
        ? await ask("answer", `{"call":${record.call},"answers":${given}}`, signal)
        : EXPIRED;
      if (next.expired) throw new Error("This call no longer waits for input: call the tool again.");
      this.answered(next, text, record);
    });
  }

  // Cancel a call whose input requests are not answered.
  leave() {
    const { record } = this;
    if (!record?.inputRequests?.length || !this.isOfNow(record)) return;
    record.inputRequests = [];
    ask("answer", `{"call":${record.call}}`).catch(() => {});
  }

  isOfNow(record) {
    return record.start === currentStart();
  }

  async during(work) {
    if (this.abort) return;
    this.begin();
    try {
      await work(this.abort.signal);
    } catch (error) {
      this.failed(error);
    } finally {
      this.end();
    }
  }

  async check(text) {
    const { fields } = await ask("check", this.request(text), this.abort.signal);
    this.hasFailed = fields.length > 0;
    this.anyway.hidden = !fields.length;
    if (fields.length) this.complain(fields);
    return !fields.length;
  }

  begin() {
    this.abort = new AbortController();
    this.button.disabled = true;
    this.anyway.hidden = true;
    const began = performance.now();
    this.clock = setInterval(() => {
      const seconds = (performance.now() - began) / 1000;
      this.stop.hidden = seconds < 0.3;
      show(this.progress, seconds < 1 ? "" : `Calling for ${seconds.toFixed(0)} s`);
    }, 100);
  }

  end() {
    clearInterval(this.clock);
    this.abort = null;
    this.button.disabled = false;
    this.stop.hidden = true;
    show(this.progress);
  }

  answered(record, text, before = null) {
    record.start = currentStart();
    this.text = text;
    const entry = { view: this, record, text, outcome: answers.outcome(record), render: this.page.render };
    this.page.remember(entry, before);
    this.display(record);
    if (this.page.about.kind !== "local" && this.page.render.profile) this.render(this.page.render);
  }

  display(record) {
    this.record = record;
    this.answer = new answers.AnswerView(this.page.about, record, this.page.render, {
      render: (render) => this.render(render),
      follow: (next) => this.page.follow(next),
      answer: (given) => this.goOn(given),
      leave: () => {
        this.leave();
        show(this.place, empty("Left unanswered", "The call ended with its question."));
      },
    });
    show(this.place, this.answer.element);
    this.reveal();
  }

  // Scroll to the answer if it is below the edge of the window.
  reveal() {
    const { top } = this.place.getBoundingClientRect();
    if (top > innerHeight * 0.6) this.place.scrollIntoView({ block: "start" });
  }

  // Render the same answer with other options.
  async render(render) {
    this.page.render = render;
    const request = this.record;
    try {
      const record = this.isOfNow(request)
        ? await ask("render", JSON.stringify({ call: request.call, render }))
        : EXPIRED;
      if (request !== this.record || render !== this.page.render) return;
      if (record.expired) this.answer.keep("The answer is no longer stored: call the tool again.");
      else this.answer.update({ ...record, next: this.record.next });
    } catch (error) {
      this.failed(error);
    }
  }

  failed(error) {
    if (error.name === "AbortError") {
      show(this.place, empty("Cancelled", "The call was cancelled."));
    } else if (error instanceof Stopped || error instanceof Stale) {
      this.page.trouble(error);
      this.answer?.element.removeAttribute("aria-busy");
    } else {
      show(
        this.place,
        h(
          "div",
          { class: "banner", role: "alert" },
          h("strong", {}, "No reply"),
          h("p", {}, clip(error.message, 2000)),
          h(
            "p",
            { class: "hint" },
            "Call the tool again to retry; a server that has exited is restarted.",
          ),
          this.page.about.kind === "local"
            ? null
            : h("p", {}, button("Connect again", () => this.page.reconnect(), { class: "quiet" })),
        ),
      );
    }
  }

  copyAs(kind) {
    const text = this.read();
    if (text === null) return;
    const found = copies(this.page.about, this.tool.name, stringify(parse(text)), this.page.render)[kind];
    if (found === null) this.page.say("A server that is a command has no URL for curl");
    else copy(found, `Copied as ${kind}`);
  }
}
