// Tasks: calls that go on in the background. Each is polled until it ends; its questions are answered here.

import { ask } from "./api.js";
import { button, empty, h, show } from "./dom.js";
import { Asking } from "./input_requests.js";
import { decoded, isObject, parse, stringify } from "./json.js";
import { load, store } from "./stored.js";
import { brief, clip, milliseconds, sizeOf } from "./text.js";

const FINAL = new Set(["completed", "failed", "cancelled"]);
const MOST = 50;
const SLOWEST = 10_000;
const FASTEST = 250;
const USUAL = 1000;
const STATELESS = "2026-07-28";

// The tasks of one server, kept in the browser.
export class Tasks {
  constructor(key, onChange) {
    this.key = `accord-tasks:${key}`;
    this.onChange = onChange;
    this.all = new Map();
    const kept = load(this.key, []);
    for (const each of Array.isArray(kept) ? kept.slice(0, MOST) : [])
      if (typeof each?.id === "string" && typeof each.name === "string") this.add(each);
  }

  add(facts) {
    const task = new Task(facts, () => this.keep());
    this.all.set(facts.id, task);
    return task;
  }

  // Follow the task that a call has become.
  follow({ taskId, status, statusMessage, ttlMs, ttl, pollIntervalMs, pollInterval }, view, record) {
    const task = this.add({
      id: taskId,
      name: view.name,
      text: view.text,
      revision: record.revision,
      began: Date.now(),
      status,
      message: statusMessage,
      ttl: ttlMs ?? ttl ?? null,
      poll: pollIntervalMs ?? pollInterval,
    });
    task.record = record;
    this.keep();
    return task;
  }

  keep() {
    const all = [...this.all.values()].sort((one, other) => other.facts.began - one.facts.began);
    store(
      this.key,
      all.slice(0, MOST).map((task) => task.facts),
    );
    this.onChange();
  }

  get open() {
    return [...this.all.values()].filter((task) => !task.isFinal).length;
  }

  forget() {
    for (const [id, task] of this.all) if (task.isFinal) this.all.delete(id);
    this.keep();
  }

  stop() {
    for (const task of this.all.values()) task.stop();
  }

  view(display) {
    const all = [...this.all.values()].sort((one, other) => other.facts.began - one.facts.began);
    for (const task of all) task.start();
    return h(
      "div",
      { class: "work" },
      h(
        "header",
        { class: "title" },
        h("h1", {}, "Tasks"),
        h("p", { class: "description" }, "Calls that the server runs in the background, from this browser."),
      ),
      all.length
        ? [
            h(
              "div",
              { class: "tasks" },
              all.map((task) => h("div", {}, task.element, taskTools(task, display))),
            ),
            h("div", { class: "actions" }, button("Remove the finished ones", () => this.forget(), { class: "quiet" })),
          ]
        : empty("No tasks", "Tick “As a task” beside Call: a tool that supports tasks runs as one."),
    );
  }
}

function taskTools(task, display) {
  return h("div", { class: "actions" }, button("Open", () => display(task), { class: "small" }));
}

class Task {
  constructor(facts, onChange) {
    this.facts = facts;
    this.onChange = onChange;
    this.onEnd = () => {};
    this.record = null;
    this.reply = null;
    this.asked = "";
    this.failures = 0;
    this.state = h("strong", { class: "outcome" });
    this.words = h("span", { role: "status" });
    this.clock = h("span", { class: "muted" });
    this.cancelling = button("Cancel the task", () => this.cancel(), { class: "quiet" });
    this.questions = h("div");
    this.element = h(
      "section",
      { class: "task", "aria-label": `Task ${brief(facts.id, 40)}` },
      h(
        "p",
        { class: "facts" },
        this.state,
        h("code", {}, brief(facts.name, 80)),
        this.clock,
        h("span", { class: "muted" }, brief(facts.id, 60)),
      ),
      h("p", { class: "words" }, this.words),
      this.questions,
      h("div", { class: "actions" }, this.cancelling),
    );
    this.draw();
  }

  get isFinal() {
    return FINAL.has(this.facts.status) || this.facts.status === "unknown";
  }

  get isExtension() {
    return this.facts.revision >= STATELESS;
  }

  request(method, more = {}) {
    const { id, revision } = this.facts;
    return ask("request", stringify({ method, params: { taskId: id, ...more }, revision }));
  }

  start() {
    if (this.timer === undefined && !this.isFinal) this.look();
  }

  stop() {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  async look() {
    this.stop();
    try {
      const { reply } = await this.request("tasks/get");
      this.failures = 0;
      this.take(decoded(reply));
    } catch (error) {
      this.failures += 1;
      show(this.words, `The task cannot be fetched: ${error.message}`);
    }
    if (this.isFinal) return;
    const wanted = Number(this.facts.poll ?? USUAL) || USUAL;
    const pause = Math.min(Math.max(wanted, FASTEST) * 2 ** Math.min(this.failures, 5), SLOWEST);
    this.timer = setTimeout(() => this.look(), document.hidden ? SLOWEST : pause);
  }

  take(reply) {
    if (isObject(reply?.error)) {
      this.facts.status = "unknown";
      this.facts.message = String(reply.error.message ?? "The server does not know this task");
      this.ended();
    } else if (isObject(reply?.result) && typeof reply.result.status === "string") {
      const { status, statusMessage, pollIntervalMs, pollInterval } = reply.result;
      this.facts.status = status;
      this.facts.message = typeof statusMessage === "string" ? clip(statusMessage, 1000) : undefined;
      this.facts.poll = pollIntervalMs ?? pollInterval ?? this.facts.poll;
      if (status === "input_required") this.ask(reply.result.inputRequests);
      else {
        this.asked = "";
        show(this.questions);
      }
      if (FINAL.has(status)) this.finish(reply.result).catch((error) => show(this.words, error.message));
    }
    this.draw();
    this.onChange();
  }

  // Questions are shown once, and stay while they are being answered.
  ask(requests) {
    const open = Object.entries(isObject(requests) ? requests : {}).filter(([, each]) => isObject(each));
    const keys = open.map(([key]) => key).join("\n");
    if (keys === this.asked) return;
    this.asked = keys;
    const asked = open.map(([key, { method, params }]) => ({ key, method, params }));
    const asking = new Asking(
      asked,
      true,
      (given) => this.answer(given),
      () => this.cancel(),
    );
    show(this.questions, asking.element);
  }

  async answer(given) {
    const answers = Object.entries(parse(given)).map(([key, each]) => [key, each.result ?? each.error ?? {}]);
    await this.try("tasks/update", { inputResponses: Object.fromEntries(answers) });
    this.look();
  }

  async cancel() {
    this.cancelling.disabled = true;
    await this.try("tasks/cancel");
    this.cancelling.disabled = false;
    this.look();
  }

  async try(method, more) {
    try {
      const { reply } = await this.request(method, more);
      const { error } = decoded(reply) ?? {};
      if (error) show(this.words, String(error.message));
    } catch (error) {
      show(this.words, error.message);
    }
  }

  // Fetch the result, and read it as that of an ordinary call.
  async finish(task) {
    const { status } = this.facts;
    if (status === "cancelled") return this.ended();
    let message = { jsonrpc: "2.0", id: 0, [status === "failed" ? "error" : "result"]: task.result ?? task.error ?? {} };
    if (!this.isExtension) message = decoded((await this.request("tasks/result")).reply) ?? message;
    const raw = stringify(message);
    const reading = await ask("read", stringify({ reply: raw, tool: this.facts.name }));
    this.reply = {
      ...(this.record ?? { messages: [], revision: this.facts.revision }),
      call: 0,
      ms: Date.now() - this.facts.began,
      inputRequests: [],
      next: null,
      reading,
      messages: [
        ...(this.record?.messages ?? []),
        { direction: "received", raw, size: sizeOf(raw), isHandshake: false },
      ],
    };
    return this.ended();
  }

  ended() {
    this.stop();
    show(this.questions);
    this.draw();
    this.onEnd(this.reply);
    this.onChange();
  }

  draw() {
    const { status, message, began } = this.facts;
    show(this.state, status.replaceAll("_", " "));
    this.state.className = `outcome ${{ failed: "error", cancelled: "partial", unknown: "error", working: "question", input_required: "question" }[status] ?? "success"}`;
    show(this.words, message ?? "");
    show(this.clock, `started ${new Date(began).toLocaleTimeString()}${this.reply ? `, ${milliseconds(this.reply.ms)}` : ""}`);
    this.cancelling.hidden = this.isFinal;
  }
}
