// How a reply was read: origin, confidence, rules, findings.

import { h } from "./dom.js";

export function how(reading) {
  return h(
    "dl",
    { class: "how" },
    h("dt", {}, "Found in"),
    h("dd", {}, reading.origin),
    h("dt", {}, "Confidence"),
    h("dd", {}, reading.confidence),
    h("dt", {}, "Rules"),
    h(
      "dd",
      {},
      h(
        "ol",
        { class: "rules" },
        reading.rules.map((rule) => h("li", {}, h("code", {}, rule))),
      ),
    ),
    reading.findings.length
      ? [
          h("dt", {}, "Findings"),
          h(
            "dd",
            {},
            reading.findings.map((each) => h("p", {}, each)),
          ),
        ]
      : [],
  );
}
