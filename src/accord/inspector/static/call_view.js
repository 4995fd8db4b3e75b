// One tool, prompt or resource: how it is called, watched while it runs, cancelled, and its answer shown.

import { Stale, Stopped, ask, currentStart, later } from "./api.js";
import { button, empty, h, show } from "./dom.js";
import { isObject } from "./json.js";
import { load, store } from "./stored.js";
import { clip, milliseconds } from "./text.js";

const EXPIRED = { expired: true };
const LEVELS = ["debug", "info", "notice", "warning", "error"];
const LEVEL = "accord-log-level";
const SHOWN_AFTER = 300;
const LONG = 220;
let answers = null;
let lives = null;
let calls = 0;

// Load the views of calls and answers; they are not needed before the first call.
export async function loadAnswers() {
  answers ??= await later(() => import("./answer.js"));
  lives ??= await later(() => import("./live.js"));
}

// A subclass has `kind`, `method`, `read` and `write` for its arguments, and `complain` for errors in them.
export class CallView {
  constructor(page, name, entry) {
    this.page = page;
    this.name = name;
    this.entry = entry;
    this.place = h("div", { class: "place" });
  }

  get description() {
    const { description } = this.entry;
    if (typeof description !== "string" || !description) return null;
    const element = h("p", { class: "description" }, clip(description, 4000));
    if (description.length <= LONG && !description.includes("\n")) return element;
    element.classList.add("short");
    const more = button(
      "More",
      () => {
        const isShort = element.classList.toggle("short");
        show(more, isShort ? "More" : "Less");
        more.setAttribute("aria-expanded", String(!isShort));
      },
      { class: "small", "aria-expanded": "false" },
    );
    return h("div", { class: "described" }, element, more);
  }

  actions(verb, more = []) {
    this.button = button(verb, () => this.call(), { class: "primary" });
    this.stop = button("Cancel", () => this.abort?.abort(), { class: "quiet", hidden: true });
    this.progress = h("span", { class: "timer muted", role: "timer" });
    return h("div", { class: "actions" }, this.button, this.stop, this.progress, more);
  }

  levels() {
    const select = h(
      "select",
      { "aria-label": "Log level", onchange: (event) => store(LEVEL, event.target.value) },
      h("option", { value: "" }, "Log level: default"),
      LEVELS.map((level) => h("option", { value: level }, `Log level: ${level}`)),
    );
    select.value = LEVELS.includes(load(LEVEL, "")) ? load(LEVEL, "") : "";
    return select;
  }

  waiting() {
    return empty("No answer yet", "The answer appears here: a preview, the generic response and the messages.");
  }

  onKeys(event) {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    this.call();
  }

  // The call as JSON; `text` are the arguments as they were typed.
  request(text) {
    const level = load(LEVEL, "");
    const more = {
      method: this.method,
      render: this.page.render,
      ...(LEVELS.includes(level) ? { logLevel: level } : {}),
      ...(this.asTask ? { asTask: true } : {}),
    };
    return `{"tool":${JSON.stringify(this.target())},"arguments":${text},${JSON.stringify(more).slice(1)}`;
  }

  // What is called: the name, or a URI.
  target() {
    return this.name;
  }

  async call({ checks = true } = {}) {
    if (this.abort) return;
    const text = this.read();
    if (text === null) return;
    await this.during(async (signal) => {
      if (checks && !(await this.check(text, signal))) return;
      this.leave();
      await loadAnswers();
      calls += 1;
      this.id = `${Date.now()}-${calls}`;
      const record = await ask("call", this.request(text), signal, this.watch());
      this.complain([]);
      this.answered(record, text);
    });
  }

  // Check the arguments before a call.
  async check() {
    return true;
  }

  // Send input responses and wait for the result.
  async goOn(given) {
    const { record, text } = this;
    await this.during(async (signal) => {
      const next = this.isOfNow(record)
        ? await ask("answer", `{"call":${record.call},"answers":${given}}`, signal, this.watch())
        : EXPIRED;
      if (next.expired) throw new Error("This call no longer waits for input: call the tool again.");
      this.answered(next, text);
    });
  }

  // Show progress and messages while the call runs.
  watch() {
    this.live = new lives.LiveView();
    const { live } = this;
    return (messages, omitted) => {
      live.take(messages, omitted);
      if (this.abort && live === this.live && !live.element.isConnected) show(this.place, live.element);
    };
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

  begin() {
    this.abort = new AbortController();
    this.button.disabled = true;
    this.element.classList.add("running");
    this.began = performance.now();
    this.clock = setInterval(() => {
      const passed = performance.now() - this.began;
      this.stop.hidden = passed < SHOWN_AFTER;
      show(this.progress, passed < SHOWN_AFTER ? "" : `Running, ${(passed / 1000).toFixed(1)} s`);
    }, 100);
  }

  end() {
    clearInterval(this.clock);
    this.abort = null;
    this.button.disabled = false;
    this.stop.hidden = true;
    this.element.classList.remove("running");
    show(this.progress);
  }

  answered(record, text) {
    record.start = currentStart();
    this.text = text;
    const { id, kind, name } = this;
    const entry = { id, kind, name, text, outcome: answers.outcome(record), ms: record.ms, time: Date.now() };
    const live = this.live?.isEmpty ? null : this.live;
    this.page.remember(entry, { record, render: this.page.render, live });
    this.display(record, live);
    if (this.takeTask(record)) return;
    if (this.page.about.kind !== "local" && this.page.render.profile) this.render(this.page.render);
  }

  // Follow the task that a call has become.
  takeTask(record) {
    const task = answers.taskOf(record);
    if (task === null) return false;
    this.page.follow(task, this, record);
    return true;
  }

  display(record, live = null) {
    this.record = record;
    this.answer = new answers.AnswerView(this.page, this, record, live);
    show(this.place, this.answer.element);
    this.element.classList.add("answered");
    this.reveal();
  }

  left() {
    this.leave();
    show(this.place, empty("Not answered", "The call was ended with its input request open."));
  }

  // Scroll to the answer if it is below the edge of the window.
  reveal() {
    const { top } = this.place.getBoundingClientRect();
    if (top > innerHeight * 0.55) this.place.scrollIntoView({ block: "start" });
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
    const passed = milliseconds(performance.now() - this.began);
    const log = this.live?.isEmpty ? null : this.live?.element;
    if (error.name === "AbortError") {
      show(this.place, empty("Cancelled", `The call was cancelled after ${passed}.`), log);
      this.note("cancelled");
    } else if (error instanceof Stopped || error instanceof Stale) {
      this.page.trouble(error);
      this.answer?.element.removeAttribute("aria-busy");
    } else {
      const banner = this.page.noReply(error, "Call again to retry; a server that has exited is restarted.");
      show(this.place, banner, log);
      this.note("error");
    }
  }

  // Remember a call that has no answer.
  note(outcome) {
    const text = this.read();
    if (text === null || !this.id) return;
    const { id, kind, name } = this;
    const ms = performance.now() - this.began;
    this.page.remember({ id, kind, name, text, outcome, ms, time: Date.now() });
  }

  // Show an earlier call: its arguments, and its answer if that is still known.
  recall({ id, text }, kept) {
    this.write(text);
    this.id = id;
    this.text = text;
    if (kept?.record) this.display(kept.record, kept.live);
    else show(this.place, empty("The answer is not stored", "Call again with these arguments to see it."));
  }

  focus() {
    const first = this.element.querySelector(".fields input, .fields textarea, .fields select");
    (first ?? this.button).focus({ preventScroll: true });
  }
}

export function words(value) {
  return typeof value === "string" ? value : "";
}

export function metadata(entry, name) {
  return isObject(entry[name]) ? entry[name] : {};
}
