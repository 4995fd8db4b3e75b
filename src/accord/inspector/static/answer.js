// One answer, side by side: for a person, as the generic response, and as it was on the wire.

import { code, json } from "./code.js";
import { button, copy, h, show } from "./dom.js";
import { decoded, isObject, lines } from "./json.js";
import { models } from "./models.js";
import { release } from "./attachments.js";
import { how } from "./reading_details.js";
import { person } from "./reading_view.js";
import { Asking, isAsking, questionView, questionsOf } from "./input_requests.js";
import { bytes, count, milliseconds } from "./text.js";

const PANES = { person: "Person", generic: "Generic", wire: "Wire" };
const STATELESS = "2026-07-28";
let chosen = "person";

export class AnswerView {
  // Callbacks: `render` with a profile and revision, `follow` with the call of the next page,
  // `answer` with input responses, `leave` to cancel the call.
  constructor(about, record, render, on) {
    this.about = about;
    this.on = on;
    this.asking = record.inputRequests?.length
      ? new Asking(record.inputRequests, record.revision >= STATELESS, on.answer, on.leave)
      : null;
    this.facts = h("div", { class: "facts", role: "status" });
    this.panes = h("div", { class: "panes three", "data-pane": chosen });
    this.models = h("div");
    this.tabs = h(
      "div",
      { class: "tabs", role: "group", "aria-label": "Views of the answer" },
      Object.entries(PANES).map(([name, title]) =>
        button(title, () => this.choose(name), { "data-name": name }),
      ),
    );
    this.element = h(
      "section",
      { class: "answer", "aria-label": "Answer" },
      this.facts,
      this.switches(render),
      this.tabs,
      this.panes,
      h("h2", { class: "subtitle" }, "What each client's model sees"),
      this.models,
    );
    this.choose(chosen);
    this.update(record);
  }

  switches(render) {
    const { about } = this;
    const own = about.kind === "local";
    this.profiles = h("div", { class: "segments", role: "radiogroup", "aria-label": "Profile" });
    for (const [name, label] of [
      ["", own ? "Server's own" : "As sent"],
      ...about.profiles.map((each) => [each, each]),
    ]) {
      const input = h("input", {
        type: "radio",
        name: "profile",
        value: name,
        checked: name === (render.profile ?? ""),
        onchange: () => this.changeOptions(),
      });
      this.profiles.append(h("label", {}, input, h("span", {}, label)));
    }
    this.revision = h(
      "select",
      { "aria-label": "Revision", onchange: () => this.changeOptions() },
      [...about.revisions].reverse().map((date) => h("option", { value: date }, date)),
    );
    this.revision.value = render.revision ?? about.revision;
    this.note = h("span", { class: "muted", role: "status" });
    return h(
      "div",
      { class: "switches" },
      h("span", { class: "label" }, "Profile"),
      this.profiles,
      h("span", { class: "label" }, "Revision"),
      this.revision,
      this.note,
    );
  }

  changeOptions() {
    const profile = this.profiles.querySelector("input:checked").value;
    this.element.setAttribute("aria-busy", "true");
    this.on.render({
      ...(profile ? { profile } : {}),
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
    this.panes.dataset.pane = name;
    for (const tab of this.tabs.children) tab.setAttribute("aria-pressed", String(tab.dataset.name === name));
  }

  update(record) {
    const last = record.messages.findLast((line) => line.direction === "received");
    const reply = last ? valueOf(last) : {};
    const blocks = isObject(reply?.result) && Array.isArray(reply.result.content) ? reply.result.content : [];
    const isOpen = this.asking !== null || isAsking(reply);
    const asked = { isOpen, questions: this.questions(reply, record) };
    const isOther = this.about.kind !== "local";
    this.revision.disabled = isOther && !this.profiles.querySelector("input:checked").value;
    show(this.note, record.isRendered ? "Rendered by Accord: the server did not send this." : "");
    show(this.facts, facts(record, asked.isOpen ? "question" : null));
    release(this.panes);
    show(
      this.panes,
      pane("person", "As a person reads it", [
        person(record.reading, blocks, { asked, follow: record.next ? () => this.on.follow(record.next) : null }),
        isOpen ? null : h("details", {}, h("summary", {}, "How we know"), how(record.reading)),
      ]),
      isOpen
        ? pane(
            "generic",
            "Generic response",
            h("p", { class: "muted pad" }, "None yet: the tool has a question."),
          )
        : pane("generic", "Generic response", [json(record.reading.response, "Generic response")], () =>
            lines(record.reading.response).join("\n"),
          ),
      pane("wire", "Wire", wire(record), () => record.messages.map((line) => line.raw).join("\n")),
    );
    show(
      this.models,
      last?.isTruncated
        ? h("p", { class: "muted pad" }, `All ${bytes(last.size)} of the reply, which is too large to be shown here.`)
        : models(isObject(reply) ? reply : {}),
    );
    this.element.removeAttribute("aria-busy");
  }

  // Views of the open input requests, or of those that were answered.
  questions(reply, record) {
    if (this.asking) return [this.asking.element];
    const views = questionsOf(reply, record.messages).map(questionView);
    if (!views.length || isAsking(reply)) return views;
    return [h("details", {}, h("summary", {}, `${count(views.length, "question")} on the way`), views)];
  }
}

export function outcome(record) {
  const { response } = record.reading;
  if (record.inputRequests?.length) return "question";
  if (response.responseType === "error") return "error";
  return response.status === "partial" ? "partial" : "success";
}

function facts(record, name) {
  const { response } = record.reading;
  const isList = name === null && Array.isArray(response.data);
  const many = isList ? ` of ${count(response.data.length, "item")}` : "";
  const kind =
    name ?? { error: "problem", tool_catalog: "catalog" }[response.responseType] ?? response.responseType;
  const sent = record.messages
    .filter((line) => line.direction === "sent")
    .reduce((sum, line) => sum + line.size, 0);
  const received = record.messages
    .filter((line) => line.direction === "received")
    .reduce((sum, line) => sum + line.size, 0);
  return [
    h("strong", { class: `outcome ${outcome(record)}` }, `${kind}${many}`),
    h("span", {}, milliseconds(record.ms)),
    h("span", {}, `${bytes(sent)} sent`),
    h("span", {}, `${bytes(received)} received`),
    h("span", {}, `revision ${record.revision}`),
  ];
}

function pane(name, title, content, text = null) {
  const tool =
    text &&
    button("Copy", () => copy(text(), `${title} copied`), { class: "small", "aria-label": `Copy: ${title}` });
  return h(
    "section",
    { class: `pane pane-${name}`, "aria-label": title },
    h("header", {}, h("h2", {}, title), tool),
    h("div", { class: "body" }, content),
  );
}

// Both ways, as it was sent; what only prepares the call is folded away.
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
