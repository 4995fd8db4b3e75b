// The upstreams of a gateway: health, revision, what they offer, calls and repairs.

import { empty, h } from "./dom.js";
import { isObject, shown } from "./json.js";
import { brief, clip, count } from "./text.js";

const MOST = 500;
const LISTS = { tools: "tool", prompts: "prompt", resources: "resource", resourceTemplates: "template" };
const OUTCOMES = { ok: "success", starting: "question", unavailable: "error" };

export function upstreams(found) {
  const all = Object.entries(found).slice(0, MOST);
  return h(
    "div",
    { class: "work" },
    h(
      "header",
      { class: "title" },
      h("h1", {}, "Upstreams"),
      h("p", { class: "description" }, "The servers behind this gateway. A call shows the upstream’s own reply."),
    ),
    all.length
      ? h("div", { class: "upstreams" }, all.map(([name, state]) => card(name, state)))
      : empty("No upstreams", "This server forwards nothing."),
  );
}

function card(name, state) {
  const server = isObject(state.server) ? state.server : {};
  const features = Object.entries(LISTS)
    .filter(([key]) => state.features?.[key])
    .map(([key, noun]) => count(state.features[key], noun));
  const repairs = Object.entries(isObject(state.repairs) ? state.repairs : {});
  const repaired = repairs.reduce((sum, [, many]) => sum + many, 0);
  const identity = [server.name, server.version].filter((each) => typeof each === "string").join(" ");
  return h(
    "section",
    { class: "upstream", "aria-label": brief(name, 80) },
    h(
      "p",
      { class: "facts" },
      h("strong", { class: `outcome ${OUTCOMES[state.status] ?? "error"}` }, shown(state.status)),
      h("strong", {}, brief(name, 80)),
      h("span", { class: "muted" }, brief(identity, 80)),
    ),
    state.reason && h("p", { class: "fault" }, clip(state.reason, 1000)),
    h(
      "dl",
      { class: "how" },
      fact("Runs", h("code", {}, brief(shown(state.target ?? ""), 200))),
      fact("Revision", shown(state.revision ?? "unknown")),
      fact("Offers", features.join(", ") || "nothing"),
      fact("Replies", shown(state.replies ?? "")),
      fact("Calls", Number(state.calls).toLocaleString("en")),
      fact("Repaired", repaired.toLocaleString("en")),
    ),
    repairs.length > 0 &&
      h(
        "details",
        {},
        h("summary", {}, "Repairs by tool"),
        h(
          "ul",
          {},
          repairs
            .sort(([, one], [, other]) => other - one)
            .slice(0, 50)
            .map(([tool, many]) => h("li", {}, h("code", {}, brief(tool, 80)), ` ${many.toLocaleString("en")}`)),
        ),
      ),
  );
}

function fact(name, value) {
  return [h("dt", {}, name), h("dd", {}, value)];
}
