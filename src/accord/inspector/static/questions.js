// What a tool asks its caller before it can go on.

import { code } from "./code.js";
import { h } from "./dom.js";
import { decoded, isObject, lines } from "./json.js";

const TITLES = {
  "elicitation/create": "The tool asks a person",
  "sampling/createMessage": "The tool asks the client's model",
  "roots/list": "The tool asks which folders it may use",
};

// The questions of a result that is none yet, or those that were requests of the server.
export function questionsOf(reply, wire) {
  if (isAsking(reply)) return Object.values(reply.result.inputRequests ?? {}).filter(isObject);
  return wire
    .filter((line) => line.direction === "received" && !line.isPrelude)
    .map((line) => decoded(line.raw))
    .filter((message) => isObject(message) && message.id !== undefined && message.method in TITLES);
}

export function isAsking(reply) {
  return isObject(reply?.result) && reply.result.resultType === "input_required";
}

export function questionView(question) {
  const params = isObject(question.params) ? question.params : {};
  return h(
    "div",
    { class: "question" },
    h("strong", {}, TITLES[question.method] ?? `The tool asks: ${question.method}`),
    typeof params.message === "string" && h("p", {}, params.message),
    code(lines(params), "Question"),
    h("p", { class: "muted" }, "A client answers this and calls again; this page only shows it."),
  );
}
