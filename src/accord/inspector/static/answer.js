// One answer, side by side: for a person, as the generic response, and as it was on the wire.

import { code, json } from "./code.js";
import { button, copy, h, show } from "./dom.js";
import { decoded, isObject, lines } from "./json.js";
import { models } from "./models.js";
import { release } from "./attachments.js";
import { how } from "./how.js";
import { person } from "./person.js";
import { Asking, isAsking, questionView, questionsOf } from "./questions.js";
import { bytes, count, milliseconds } from "./text.js";

const PANES = { person: "Person", generic: "Generic", wire: "Wire" };
const STATELESS = "2026-07-28";
let chosen = "person";

export class AnswerView {
  // Told of are: `wish`, how the answer is to be worded; `follow`, that the next page is wanted;
  // `answer` and `leave`, what became of the questions in it.
  constructor(about, talk, wish, on) {
    this.about = about;
    this.on = on;
    this.asking = talk.asked?.length
      ? new Asking(talk.asked, talk.revision >= STATELESS, on.answer, on.leave)
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
      this.switches(wish),
      this.tabs,
      this.panes,
      h("h2", { class: "subtitle" }, "What each client's model sees"),
      this.models,
    );
    this.choose(chosen);
    this.update(talk);
  }

  switches(wish) {
    const { about } = this;
    const own = about.kind === "own";
    this.profiles = h("div", { class: "segments", role: "radiogroup", "aria-label": "Profile" });
    for (const [name, label] of [
      ["", own ? "Server's own" : "As sent"],
      ...about.profiles.map((each) => [each, each]),
    ]) {
      const input = h("input", {
        type: "radio",
        name: "profile",
        value: name,
        checked: name === (wish.profile ?? ""),
        onchange: () => this.wish(),
      });
      this.profiles.append(h("label", {}, input, h("span", {}, label)));
    }
    this.revision = h(
      "select",
      { "aria-label": "Revision", onchange: () => this.wish() },
      [...about.revisions].reverse().map((date) => h("option", { value: date }, date)),
    );
    this.revision.value = wish.revision ?? about.revision;
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

  wish() {
    const profile = this.profiles.querySelector("input:checked").value;
    this.element.setAttribute("aria-busy", "true");
    this.on.wish({
      ...(profile ? { profile } : {}),
      ...(this.revision.value === this.about.revision ? {} : { revision: this.revision.value }),
    });
  }

  // The answer stays as it is shown.
  keep(reason) {
    show(this.note, reason);
    this.element.removeAttribute("aria-busy");
  }

  choose(name) {
    chosen = name;
    this.panes.dataset.pane = name;
    for (const tab of this.tabs.children) tab.setAttribute("aria-pressed", String(tab.dataset.name === name));
  }

  update(talk) {
    const last = talk.wire.findLast((line) => line.direction === "received");
    const reply = last ? valueOf(last) : {};
    const blocks = isObject(reply?.result) && Array.isArray(reply.result.content) ? reply.result.content : [];
    const isOpen = this.asking !== null || isAsking(reply);
    const asked = { isOpen, questions: this.questions(reply, talk) };
    const isOther = this.about.kind !== "own";
    this.revision.disabled = isOther && !this.profiles.querySelector("input:checked").value;
    show(this.note, talk.isOurs ? "Worded by Accord: the server never sent this." : "");
    show(this.facts, facts(talk, asked.isOpen ? "question" : null));
    release(this.panes);
    show(
      this.panes,
      pane("person", "As a person reads it", [
        person(talk.reading, blocks, { asked, follow: talk.next ? () => this.on.follow(talk.next) : null }),
        isOpen ? null : h("details", {}, h("summary", {}, "How we know"), how(talk.reading)),
      ]),
      isOpen
        ? pane(
            "generic",
            "Generic response",
            h("p", { class: "muted pad" }, "None yet: the tool has a question."),
          )
        : pane("generic", "Generic response", [json(talk.reading.response, "Generic response")], () =>
            lines(talk.reading.response).join("\n"),
          ),
      pane("wire", "Wire", wire(talk), () => talk.wire.map((line) => line.raw).join("\n")),
    );
    show(
      this.models,
      last?.isCut
        ? h("p", { class: "muted pad" }, `All ${bytes(last.size)} of the reply, which is too large to be shown here.`)
        : models(isObject(reply) ? reply : {}),
    );
    this.element.removeAttribute("aria-busy");
  }

  // Those that can be answered, in whatever words they are shown; else those that were asked on the way.
  questions(reply, talk) {
    if (this.asking) return [this.asking.element];
    const views = questionsOf(reply, talk.wire).map(questionView);
    if (!views.length || isAsking(reply)) return views;
    return [h("details", {}, h("summary", {}, `${count(views.length, "question")} on the way`), views)];
  }
}

export function outcome(talk) {
  const { response } = talk.reading;
  if (talk.asked?.length) return "question";
  if (response.responseType === "error") return "error";
  return response.status === "partial" ? "partial" : "success";
}

function facts(talk, name) {
  const { response } = talk.reading;
  const isList = name === null && Array.isArray(response.data);
  const many = isList ? ` of ${count(response.data.length, "item")}` : "";
  const kind =
    name ?? { error: "problem", tool_catalog: "catalog" }[response.responseType] ?? response.responseType;
  const sent = talk.wire
    .filter((line) => line.direction === "sent")
    .reduce((sum, line) => sum + line.size, 0);
  const received = talk.wire
    .filter((line) => line.direction === "received")
    .reduce((sum, line) => sum + line.size, 0);
  return [
    h("strong", { class: `outcome ${outcome(talk)}` }, `${kind}${many}`),
    h("span", {}, milliseconds(talk.ms)),
    h("span", {}, `${bytes(sent)} sent`),
    h("span", {}, `${bytes(received)} received`),
    h("span", {}, `revision ${talk.revision}`),
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
function wire(talk) {
  const prelude = talk.wire.filter((line) => line.isPrelude);
  const rest = talk.wire.filter((line) => !line.isPrelude);
  return [
    prelude.length
      ? h(
          "details",
          { class: "prelude" },
          h("summary", {}, `Handshake, ${count(prelude.length, "message")}`),
          prelude.map((line) => message(line)),
        )
      : null,
    talk.omitted
      ? h("p", { class: "muted pad" }, `${count(talk.omitted, "earlier message")} left out`)
      : null,
    rest.map((line) => message(line, line === rest.at(-1) ? talk.ms : null)),
  ]
    .flat()
    .filter(Boolean);
}

function message(line, ms = null) {
  const value = valueOf(line);
  const title = line.direction === "sent" ? "Sent" : "Received";
  const cut = line.isCut ? "cut" : null;
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
  if (!values.has(line)) values.set(line, line.isCut ? null : decoded(line.raw));
  return values.get(line);
}
