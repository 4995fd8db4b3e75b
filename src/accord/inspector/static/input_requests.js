// Input requests of a tool, and the forms to answer them.

import { ask } from "./api.js";
import { json } from "./code.js";
import { button, h, identity, show } from "./dom.js";
import { Form } from "./form.js";
import { decoded, isObject, parse, stringify } from "./json.js";
import { clip } from "./text.js";

const ELICIT = "elicitation/create";
const SAMPLE = "sampling/createMessage";
const ROOTS = "roots/list";
const TITLES = new Map([
  [ELICIT, "The tool asks a person"],
  [SAMPLE, "The tool asks the client's model"],
  [ROOTS, "The tool asks which folders it may use"],
]);
const REJECTED = '{"error":{"code":-1,"message":"The user has declined"}}';

// Return the input requests in a result, or in the messages of the server.
export function questionsOf(reply, wire) {
  if (isInputRequired(reply))
    return Object.values(isObject(reply.result.inputRequests) ? reply.result.inputRequests : {}).filter(
      isObject,
    );
  return wire
    .filter((line) => line.direction === "received" && !line.isHandshake)
    .map((line) => decoded(line.raw))
    .filter((message) => isObject(message) && message.id !== undefined && TITLES.has(message.method));
}

export function isAsking(reply) {
  return TITLES.has(reply?.method) || isInputRequired(reply);
}

function isInputRequired(reply) {
  return isObject(reply?.result) && reply.result.resultType === "input_required";
}

function heading({ method, params }) {
  return [
    h("strong", {}, TITLES.get(method) ?? `The tool asks: ${clip(String(method), 80)}`),
    typeof params?.message === "string" && h("p", { class: "words" }, clip(params.message, 4000)),
  ];
}

// Show an input request that cannot be answered.
export function questionView(question) {
  const params = isObject(question.params) ? question.params : {};
  return h("div", { class: "inquiry" }, heading({ ...question, params }), json(params, "Question"));
}

// The open input requests. Responses are sent once all are answered; `isStateless` ones can only be declined by
// ending the call.
export class Asking {
  constructor(asked, isStateless, onAnswer, onLeave) {
    this.asked = asked;
    this.isStateless = isStateless;
    this.onAnswer = onAnswer;
    this.onLeave = onLeave;
    this.answers = new Map();
    this.element = h(
      "div",
      { class: "asking" },
      asked.map((question) => this.view(question)),
    );
  }

  view(question) {
    const params = isObject(question.params) ? question.params : {};
    const { element, buttons } = this.fields(question, params);
    const state = h("p", { class: "muted", role: "status" });
    const actions = h("div", { class: "actions" }, buttons, state);
    const settle = (text, words) => {
      this.answers.set(question.key, text);
      for (const each of box.querySelectorAll("input, textarea, select, button")) each.disabled = true;
      show(state, words);
      if (this.answers.size === this.asked.length) this.send();
    };
    const box = h(
      "form",
      { class: "inquiry", onsubmit: (event) => event.preventDefault(), onkeydown: enter },
      heading({ ...question, params }),
      element,
      actions,
      h("details", {}, h("summary", {}, "As it was asked"), json(params, "Question")),
    );
    box.settle = settle;
    return box;
  }

  fields(question, params) {
    const make = { [ELICIT]: params.mode === "url" ? visit : elicit, [SAMPLE]: sample, [ROOTS]: roots };
    return (Object.hasOwn(make, question.method) ? make[question.method] : anything)(params, this);
  }

  // Decline if the method has a way to; otherwise end the call.
  refuse(event) {
    if (this.isStateless) this.onLeave();
    else settle(event, REJECTED, "Declined");
  }

  send() {
    const members = [...this.answers].map(([key, text]) => `${JSON.stringify(key)}:${text}`);
    this.onAnswer(`{${members.join(",")}}`);
  }
}

// Ctrl+Enter sends the answer.
function enter(event) {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  event.stopPropagation();
  event.currentTarget.querySelector(".primary")?.click();
}

function settle(event, text, words) {
  event.target.closest(".inquiry").settle(text, words);
}

function result(text) {
  return `{"result":${text}}`;
}

function refusals() {
  return ["decline", "cancel"].map((action) =>
    button(
      action === "decline" ? "Decline" : "Cancel",
      (event) =>
        settle(event, result(`{"action":"${action}"}`), action === "decline" ? "Declined" : "Cancelled"),
      { class: "quiet" },
    ),
  );
}

function elicit({ requestedSchema: given }) {
  const schema = isObject(given) ? given : {};
  const form = new Form(schema);
  form.write(defaults(schema));
  const accept = async (event) => {
    const { text, faults } = form.read();
    form.complain(faults);
    if (faults.length) return;
    const { fields } = await ask("validate", `{"schema":${stringify(schema)},"value":${text}}`).catch(() => ({
      fields: [],
    }));
    form.complain(fields);
    if (!fields.length) settle(event, result(`{"action":"accept","content":${text}}`), "Answered");
  };
  return { element: form.element, buttons: [button("Answer", accept, { class: "primary" }), refusals()] };
}

function defaults(schema) {
  const members = Object.entries(isObject(schema.properties) ? schema.properties : {});
  return Object.fromEntries(
    members.filter(([, each]) => each?.default !== undefined).map(([name, each]) => [name, each.default]),
  );
}

// A link is opened by the user only, and only if it is http or https.
function visit({ url }) {
  const address = String(url ?? "");
  const isWeb = /^https?:\/\//i.test(address);
  const link =
    isWeb && h("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, "Open it in a new tab");
  const accept = (event) => settle(event, result('{"action":"accept"}'), "Answered");
  return {
    element: h("div", {}, h("p", {}, h("code", {}, clip(address, 2000))), link),
    buttons: [button("I have done it", accept, { class: "primary" }), refusals()],
  };
}

function sample(params, asking) {
  const box = textarea("What the model says", 4);
  const answer = (event) => {
    const content = { type: "text", text: box.control.value };
    const said = { role: "assistant", content, model: "a person", stopReason: "endTurn" };
    settle(event, result(JSON.stringify(said)), "Answered");
  };
  const messages = Array.isArray(params.messages) ? params.messages.filter(isObject) : [];
  return {
    element: h("div", {}, messages.slice(-20).map(message), box.element),
    buttons: [button("Answer", answer, { class: "primary" }), decline(asking)],
  };
}

function message({ role, content }) {
  const blocks = (Array.isArray(content) ? content : [content]).filter(isObject);
  const text = blocks
    .map((block) => (block.type === "text" ? String(block.text) : `[${block.type}]`))
    .join("\n");
  return h(
    "p",
    { class: "words" },
    h("span", { class: "muted" }, `${clip(String(role), 20)}: `),
    clip(text, 4000),
  );
}

function roots(params, asking) {
  const box = textarea("Folders, one URI a line", 2, "file:///home/me/project");
  const answer = (event) => {
    const uris = box.control.value
      .split("\n")
      .map((line) => line.trim())
      .filter(Boolean);
    settle(event, result(JSON.stringify({ roots: uris.map((uri) => ({ uri })) })), "Answered");
  };
  return { element: box.element, buttons: [button("Answer", answer, { class: "primary" }), decline(asking)] };
}

function anything(params, asking) {
  const box = textarea("The result, as JSON", 4, "{}");
  const answer = (event) => {
    try {
      const text = box.control.value.trim() || "{}";
      if (!isObject(parse(text))) throw new SyntaxError("it has to be an object");
      settle(event, result(text), "Answered");
    } catch (error) {
      box.complain(`is no JSON object: ${error.message}`);
    }
  };
  return { element: box.element, buttons: [button("Answer", answer, { class: "primary" }), decline(asking)] };
}

function decline(asking) {
  return button(asking.isStateless ? "Leave it" : "Decline", (event) => asking.refuse(event), {
    class: "quiet",
  });
}

function textarea(label, rows, placeholder = "") {
  const id = identity("answer");
  const control = h("textarea", { id, rows, placeholder, spellcheck: "false" });
  const fault = h("p", { class: "fault", hidden: true, role: "alert" });
  const complain = (words) => {
    show(fault, words);
    fault.hidden = false;
  };
  return {
    control,
    complain,
    element: h("div", { class: "field" }, h("label", { for: id, class: "label" }, label), control, fault),
  };
}
