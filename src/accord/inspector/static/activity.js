// Counters and a small chart.

import { empty, h, svg } from "./dom.js";
import { count, milliseconds } from "./text.js";

const HEIGHT = 72;
const BAR = 8;
const STEP = 10;

export function activity(counts, isLocal) {
  return h(
    "div",
    { class: "work" },
    h(
      "header",
      { class: "title" },
      h("h1", {}, "Activity"),
      h(
        "p",
        { class: "description" },
        isLocal ? "Calls since the start, from this page and every client over HTTP." : "Calls from this page since the start.",
      ),
    ),
    figures(counts),
  );
}

function figures(counts) {
  const all = counts.tools.reduce((sum, tool) => sum + tool.calls, 0);
  const failed = counts.tools.reduce((sum, tool) => sum + tool.failures, 0);
  const spent = counts.tools.reduce((sum, tool) => sum + tool.calls * tool.meanMs, 0);
  if (!all)
    return empty("No calls yet", "Calls of this page, and of any client, are counted here as they end.");
  return h(
    "div",
    { class: "activity" },
    h(
      "div",
      { class: "figures" },
      figure("Calls", all.toLocaleString("en")),
      figure("Failures", failed.toLocaleString("en"), failed > 0),
      figure("Time a call", milliseconds(spent / all)),
    ),
    chart(counts),
    tools(counts.tools),
  );
}

function figure(name, value, isBad = false) {
  return h(
    "div",
    { class: isBad ? "figure bad" : "figure" },
    h("span", { class: "value" }, value),
    h("span", { class: "muted" }, name),
  );
}

// The last minutes: a bar for each span of time, what failed at its foot.
function chart(counts) {
  const most = Math.max(1, ...counts.recent.map((each) => each.calls));
  const width = counts.spans * STEP;
  const bars = counts.recent.flatMap(({ ago, calls, failures }) => {
    const x = width - STEP - (ago / counts.span) * STEP;
    const tall = (calls / most) * HEIGHT;
    const bad = (failures / most) * HEIGHT;
    return [rect(x, HEIGHT - tall, tall, "calls"), bad ? rect(x, HEIGHT - bad, bad, "failures") : null];
  });
  const minutes = (counts.spans * counts.span) / 60;
  const words = `Calls in the last ${minutes} minutes, at most ${most} in ${counts.span} seconds`;
  return h(
    "figure",
    { class: "chart" },
    svg(
      "svg",
      { viewBox: `0 0 ${width} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": words },
      bars,
    ),
    h(
      "figcaption",
      { class: "muted" },
      h("span", {}, `${minutes} minutes ago`),
      h("span", {}, `${count(most, "call")} at most in ${counts.span} s`),
      h("span", {}, "now"),
    ),
  );
}

function rect(x, y, height, kind) {
  return svg("rect", { x, y, width: BAR, height, class: kind });
}

function tools(rows) {
  const most = Math.max(...rows.map((row) => row.calls));
  const slowest = Math.max(...rows.map((row) => row.meanMs), 0.001);
  const sorted = [...rows].sort(
    (one, other) => other.calls - one.calls || one.tool.localeCompare(other.tool),
  );
  return h(
    "div",
    { class: "scroller", tabindex: "0", role: "region", "aria-label": "Calls by tool" },
    h(
      "table",
      {},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ["Tool", "Calls", "Failures", "Mean time", "Longest"].map((name) =>
            h("th", { scope: "col" }, name),
          ),
        ),
      ),
      h(
        "tbody",
        {},
        sorted.map((row) =>
          h(
            "tr",
            {},
            h("td", {}, h("code", {}, row.tool)),
            h("td", {}, bar(row.calls / most, "calls"), row.calls.toLocaleString("en")),
            h("td", {}, bar(row.failures / most, "failures"), row.failures.toLocaleString("en")),
            h("td", {}, bar(row.meanMs / slowest, "time"), milliseconds(row.meanMs)),
            h("td", {}, milliseconds(row.longestMs)),
          ),
        ),
      ),
    ),
  );
}

function bar(share, kind) {
  return svg(
    "svg",
    { viewBox: "0 0 60 10", class: "bar", "aria-hidden": "true" },
    svg("rect", { width: 60 * share, height: 10, rx: 2, class: kind }),
  );
}
