// One answer, side by side: a preview, the generic response, and the messages as they were sent.

import { release } from "./attachments.js";
import { code, json } from "./code.js";
import { button, copy, h, show } from "./dom.js";
import { contents, promptMessages } from "./feature_view.js";
import { Asking, isAsking, questionView, questionsOf } from "./input_requests.js";
import { decoded, isObject, lines, stringify } from "./json.js";
import { models } from "./models.js";
import { Panes } from "./panes.js";
import { how } from "./reading_details.js";
import { person } from "./reading_view.js";
import { save } from "./save.js";
import { bytes, count, milliseconds } from "./text.js";

const TITLES = { person: "Preview", generic: "Generic", upstream: "Upstream", wire: "Messages" };
const STATELESS = "2026-07-28";
let chosen = "person";

export class AnswerView {
  // `view` made the call; `live` has the messages that came before the result.
  constructor(page, view, record, live = null) {
    this.page = page;
    this.about = page.about;
    this.view = view;
    this.live = live;
    this.isTool = view.kind === "tool";
    this.asking = record.inputRequests?.length
      ? new Asking(
          record.inputRequests,
          record.revision >= STATELESS,
          (given) => view.goOn(given),
          () => view.left(),
        )
      : null;
    this.facts = h("div", { class: "facts", role: "status" });
    this.panes = new Panes();
    this.tabs = h("div", { class: "tabs", role: "group", "aria-label": "Views of the answer" });
    this.models = h("div");
    this.element = h(
      "section",
      { class: "answer", "aria-label": "Answer" },
      h("div", { class: "top-line" }, this.facts, this.isTool && this.switches(page.render)),
      this.tabs,
      this.panes.element,
      this.isTool && h("h2", { class: "subtitle" }, "What each client's model sees"),
      this.models,
    );
    this.update(record);
  }

  switches(render) {
    const { about } = this;
    const own = about.kind === "local" && !about.isGateway;
    this.profile = h(
      "select",
      { "aria-label": "Profile", onchange: () => this.changeOptions() },
      h("option", { value: "" }, own ? "Profile: server's own" : "Profile: as sent"),
      about.profiles.map((name) => h("option", { value: name }, `Profile: ${name}`)),
    );
    this.profile.value = render.profile ?? "";
    this.revision = h(
      "select",
      { "aria-label": "Revision", onchange: () => this.changeOptions() },
      [...about.revisions].reverse().map((date) => h("option", { value: date }, date)),
    );
    this.revision.value = render.revision ?? about.revision;
    this.note = h("span", { class: "muted", role: "status" });
    return h("div", { class: "switches" }, this.note, this.profile, this.revision);
  }

  changeOptions() {
    this.element.setAttribute("aria-busy", "true");
    this.view.render({
      ...(this.profile.value ? { profile: this.profile.value } : {}),
      ...(this.revision.value === this.about.revision ? {} : { revision: this.revision.value }),
    });
  }

  // Keep the answer as shown, and give the reason.
  keep(reason) {
    show(this.note, reason);
    this.element.removeAttribute("aria-busy");
  }

  choose(name) {
    chosen = name;
    this.panes.element.dataset.pane = name;
    for (const tab of this.tabs.children) tab.setAttribute("aria-pressed", String(tab.dataset.name === name));
  }

  update(record) {
    this.record = record;
    const last = record.messages.findLast((line) => line.direction === "received");
    const reply = last ? valueOf(last) : {};
    const isOpen = this.asking !== null || isAsking(reply);
    if (this.isTool) {
      this.revision.disabled = this.about.kind !== "local" && !this.profile.value;
      show(this.note, record.isRendered ? "Rendered by Accord: the server did not send this." : "");
    }
    show(this.facts, facts(record, isOpen ? "question" : this.isTool ? null : this.view.kind), this.exports());
    release(this.panes.element);
    const panes = [
      this.preview(record, reply, isOpen),
      record.upstream ? upstreamPane(record.upstream) : null,
      this.isTool ? { ...this.generic(record, isOpen), startsFolded: Boolean(record.upstream) } : null,
      this.wire(record),
    ].filter(Boolean);
    const hasDocument = panes[0].content.flat().some((each) => each?.querySelector?.("iframe"));
    this.panes.show(panes, { alone: hasDocument ? "person" : null });
    show(
      this.tabs,
      panes.map(({ name, title }) => button(title, () => this.choose(name), { "data-name": name })),
    );
    this.choose(panes.some((pane) => pane.name === chosen) ? chosen : "person");
    if (this.isTool) this.showModels(last, reply);
    this.element.removeAttribute("aria-busy");
  }

  showModels(last, reply) {
    show(
      this.models,
      last?.isTruncated
        ? h("p", { class: "muted pad" }, `The whole reply, ${bytes(last.size)}; it is too large to show here.`)
        : models(isObject(reply) ? reply : {}),
    );
  }

  preview(record, reply, isOpen) {
    const asked = { isOpen, questions: this.questions(reply, record) };
    const result = isObject(reply?.result) ? reply.result : {};
    const follow = record.next ? () => this.page.callNext(record.next) : null;
    const isShown = !this.isTool && isObject(reply?.result) && !isOpen;
    const body = isShown
      ? [this.view.kind === "prompt" ? promptMessages(result) : contents(result), ...asked.questions]
      : [person(record.reading, this.isTool && Array.isArray(result.content) ? result.content : [], { asked, follow })];
    return {
      name: "person",
      title: TITLES.person,
      weight: 2,
      content: [
        ...body,
        this.live && h("details", {}, h("summary", {}, "Messages during the call"), this.live.element),
        this.isTool && !isOpen && h("details", {}, h("summary", {}, "How it was read"), how(record.reading)),
      ],
    };
  }

  generic(record, isOpen) {
    const { response } = record.reading;
    const text = () => lines(response).join("\n");
    return {
      name: "generic",
      title: TITLES.generic,
      content: isOpen
        ? h("p", { class: "muted pad" }, "None yet: the call waits for input.")
        : [json(response, TITLES.generic)],
      tools: isOpen ? [] : [copier(TITLES.generic, text), saver(TITLES.generic, text, `${this.view.name}.json`)],
    };
  }

  wire(record) {
    const text = () => record.messages.map((line) => line.raw).join("\n");
    return {
      name: "wire",
      title: TITLES.wire,
      content: wire(record),
      tools: [this.panes.wrapper(), copier(TITLES.wire, text)],
    };
  }

  // The whole call: what was asked, and every message.
  exports() {
    const text = () => {
      const { record, view } = this;
      const messages = record.messages.map(({ direction, raw, isTruncated }) => ({
        direction,
        message: isTruncated ? raw : (decoded(raw) ?? raw),
        ...(isTruncated ? { isTruncated } : {}),
      }));
      const call = { server: this.about.server, method: view.method, name: view.name, ms: record.ms };
      return stringify({ ...call, revision: record.revision, response: record.reading.response, messages });
    };
    return h(
      "span",
      { class: "buttons" },
      button("Copy call", () => copy(text(), "Call copied as JSON"), { class: "small" }),
      button("Save call", () => save(text(), `${this.view.name}-call.json`), { class: "small" }),
    );
  }

  // Views of the open input requests, or of those that were answered.
  questions(reply, record) {
    if (this.asking) return [this.asking.element];
    const views = questionsOf(reply, record.messages).map(questionView);
    if (!views.length || isAsking(reply)) return views;
    return [h("details", {}, h("summary", {}, count(views.length, "answered input request")), views)];
  }
}

export function outcome(record) {
  const { response } = record.reading;
  if (record.inputRequests?.length) return "question";
  if (taskOf(record) !== null) return "task";
  if (response.responseType === "error") return "error";
  return response.status === "partial" ? "partial" : "success";
}

// The task that a call has become, in the form of either revision.
export function taskOf(record) {
  const last = record.messages.findLast((line) => line.direction === "received" && !line.isHandshake);
  const result = last ? valueOf(last)?.result : null;
  if (!isObject(result)) return null;
  const task = result.resultType === "task" ? result : isObject(result.task) ? result.task : null;
  return typeof task?.taskId === "string" && typeof task.status === "string" ? task : null;
}

function facts(record, name) {
  const { response } = record.reading;
  const isList = name === null && Array.isArray(response.data);
  const many = isList ? ` of ${count(response.data.length, "item")}` : "";
  const isError = response.responseType === "error";
  const type = isError && name !== "question" ? "error" : (name ?? response.responseType);
  const kind = KINDS[type] ?? type;
  const sent = record.messages
    .filter((line) => line.direction === "sent")
    .reduce((sum, line) => sum + line.size, 0);
  const received = record.messages
    .filter((line) => line.direction === "received")
    .reduce((sum, line) => sum + line.size, 0);
  return [
    h("strong", { class: `outcome ${outcome(record)}` }, `${kind}${many}`),
    h("span", {}, milliseconds(record.ms)),
    h("span", { title: `${bytes(sent)} sent` }, `${bytes(received)} received`),
    name !== null && h("span", {}, record.revision),
  ];
}

const KINDS = { tool_catalog: "catalog", question: "input request" };

function copier(title, text) {
  return button("Copy", () => copy(text(), `${title} copied`), {
    class: "small",
    "aria-label": `Copy: ${title}`,
  });
}

function saver(title, text, name) {
  return button("Save", () => save(text(), name), { class: "small", "aria-label": `Save: ${title}` });
}

// The reply of an upstream, beside what the gateway made of it.
function upstreamPane(upstream) {
  const value = upstream.isTruncated ? null : decoded(upstream.raw);
  const done = {
    "as-is": "passed on unchanged",
    repaired: upstream.changed.length ? "repaired" : "nothing to repair",
    normalised: "normalised",
  };
  const cut = upstream.isTruncated ? ", the beginning is shown" : "";
  return {
    name: "upstream",
    title: TITLES.upstream,
    content: [
      h(
        "p",
        { class: "direction" },
        h("strong", {}, `${upstream.server}: ${upstream.tool}`),
        h("span", { class: "muted" }, `${bytes(upstream.size)}${cut}`),
      ),
      h("p", { class: "pad changes" }, h("span", { class: "mark" }, done[upstream.replies] ?? upstream.replies)),
      upstream.changed.length > 0 &&
        h(
          "ul",
          { class: "pad changes" },
          upstream.changed.slice(0, 50).map((each) => h("li", {}, h("code", {}, each))),
        ),
      value === null ? code([upstream.raw], "Reply of the upstream") : json(value, "Reply of the upstream"),
    ],
    tools: [copier("Reply of the upstream", () => upstream.raw)],
  };
}

// Both directions, as sent; the handshake is folded.
function wire(record) {
  const prelude = record.messages.filter((line) => line.isHandshake);
  const rest = record.messages.filter((line) => !line.isHandshake);
  return [
    prelude.length
      ? h(
          "details",
          { class: "prelude" },
          h("summary", {}, `Handshake, ${count(prelude.length, "message")}`),
          prelude.map((line) => message(line)),
        )
      : null,
    record.omitted
      ? h("p", { class: "muted pad" }, `${count(record.omitted, "earlier message")} left out`)
      : null,
    rest.map((line) => message(line, line === rest.at(-1) ? record.ms : null)),
  ]
    .flat()
    .filter(Boolean);
}

function message(line, ms = null) {
  const value = valueOf(line);
  const title = line.direction === "sent" ? "Sent" : "Received";
  const cut = line.isTruncated ? "cut" : null;
  const said = [bytes(line.size), ms === null ? null : milliseconds(ms), cut].filter(Boolean).join(", ");
  return h(
    "div",
    { class: `message-box ${line.direction}` },
    h("p", { class: "direction" }, h("strong", {}, title), h("span", { class: "muted" }, said)),
    value === null ? code([line.raw], title) : json(value, title),
  );
}

const values = new WeakMap();

// A message is decoded once; what is cut, or no JSON, is null.
function valueOf(line) {
  if (!values.has(line)) values.set(line, line.isTruncated ? null : decoded(line.raw));
  return values.get(line);
}
