// One tool: what it is, a form for its arguments, the call, and its answer.

import { Stale, Stopped, ask, currentStart, later } from "./api.js";
import { json } from "./code.js";
import { copies } from "./copies.js";
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
const FORGOTTEN = { forgotten: true };
let answers = null;

// How answers are shown, which is not needed before there is one.
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

  // The arguments as JSON text; null where what was typed is none.
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
      this.complainRaw([{ field: "", error: `This is no JSON object: ${error.message}` }]);
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

  asked(text) {
    return `{"tool":${JSON.stringify(this.tool.name)},"arguments":${text},"wish":${JSON.stringify(this.page.wish)}}`;
  }

  // Once arguments did not fit, they are looked at again while somebody types.
  recheck() {
    if (!this.hasFailed) return;
    clearTimeout(this.pause);
    this.pause = setTimeout(async () => {
      const { text, faults } = this.isJson ? { text: this.raw.value, faults: [] } : this.form.read();
      try {
        const { fields } = await ask("check", this.asked(text));
        this.complain([...faults, ...fields], { focus: false });
      } catch {
        // half-typed JSON, or no server: the call will tell
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
      const talk = await ask("call", this.asked(text), signal);
      this.hasFailed = false;
      this.complain([]);
      this.answered(talk, text);
    });
  }

  // Send what somebody answered, and wait for what comes of it.
  async goOn(given) {
    const { talk, text } = this;
    await this.during(async (signal) => {
      const next = this.isOfNow(talk)
        ? await ask("answer", `{"call":${talk.call},"answers":${given}}`, signal)
        : FORGOTTEN;
      if (next.forgotten) throw new Error("This call no longer waits for an answer: call the tool again.");
      this.answered(next, text, talk);
    });
  }

  // A question that nobody is going to answer ends its call.
  leave() {
    const { talk } = this;
    if (!talk?.asked?.length || !this.isOfNow(talk)) return;
    talk.asked = [];
    ask("answer", `{"call":${talk.call}}`).catch(() => {});
  }

  isOfNow(talk) {
    return talk.start === currentStart();
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
    const { fields } = await ask("check", this.asked(text), this.abort.signal);
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

  answered(talk, text, before = null) {
    talk.start = currentStart();
    this.text = text;
    const entry = { view: this, talk, text, outcome: answers.outcome(talk), wish: this.page.wish };
    this.page.remember(entry, before);
    this.display(talk);
    if (this.page.about.kind !== "own" && this.page.wish.profile) this.word(this.page.wish);
  }

  display(talk) {
    this.talk = talk;
    this.answer = new answers.AnswerView(this.page.about, talk, this.page.wish, {
      wish: (wish) => this.word(wish),
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

  // Below the edge nobody would see that there is an answer.
  reveal() {
    const { top } = this.place.getBoundingClientRect();
    if (top > innerHeight * 0.6) this.place.scrollIntoView({ block: "start" });
  }

  // The same answer in other words.
  async word(wish) {
    this.page.wish = wish;
    const asked = this.talk;
    try {
      const talk = this.isOfNow(asked)
        ? await ask("word", JSON.stringify({ call: asked.call, wish }))
        : FORGOTTEN;
      if (asked !== this.talk || wish !== this.page.wish) return;
      if (talk.forgotten) this.answer.keep("The server has let go of this answer: call the tool again.");
      else this.answer.update({ ...talk, next: this.talk.next });
    } catch (error) {
      this.failed(error);
    }
  }

  failed(error) {
    if (error.name === "AbortError") {
      show(this.place, empty("Cancelled", "Nobody waits for this answer any longer."));
    } else if (error instanceof Stopped || error instanceof Stale) {
      this.page.trouble(error);
      this.answer?.element.removeAttribute("aria-busy");
    } else {
      show(
        this.place,
        h(
          "div",
          { class: "banner", role: "alert" },
          h("strong", {}, "No answer came"),
          h("p", {}, clip(error.message, 2000)),
          h(
            "p",
            { class: "hint" },
            "Call the tool again to try anew; a server that has ended is started again.",
          ),
          this.page.about.kind === "own"
            ? null
            : h("p", {}, button("Connect again", () => this.page.reconnect(), { class: "quiet" })),
        ),
      );
    }
  }

  copyAs(kind) {
    const text = this.read();
    if (text === null) return;
    const found = copies(this.page.about, this.tool.name, stringify(parse(text)), this.page.wish)[kind];
    if (found === null) this.page.say("A server that is a command has no URL for curl");
    else copy(found, `Copied as ${kind}`);
  }
}
