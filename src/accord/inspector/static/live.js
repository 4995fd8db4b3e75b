// What a call reports before its result: progress, log messages, and other notifications.

import { h, show } from "./dom.js";
import { decoded, isObject, shown } from "./json.js";
import { brief, clip, count } from "./text.js";

const MOST = 200;
const LONGEST = 2000;
const LEVELS = new Set(["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]);

export class LiveView {
  constructor() {
    this.bar = h("progress", { hidden: true, "aria-label": "Progress" });
    this.words = h("span", { class: "muted", role: "status" });
    this.list = h("ol", { class: "log", "aria-label": "Messages", tabindex: "0" });
    this.omitted = 0;
    this.note = h("p", { class: "muted", hidden: true });
    this.element = h(
      "section",
      { class: "live", "aria-label": "Running call" },
      h("div", { class: "progress" }, this.bar, this.words),
      this.list,
      this.note,
    );
  }

  get isEmpty() {
    return !this.list.childElementCount && this.bar.hidden;
  }

  take(texts, omitted) {
    for (const text of texts) {
      const message = decoded(text);
      if (!isObject(message)) continue;
      const params = isObject(message.params) ? message.params : {};
      if (message.method === "notifications/progress") this.advance(params);
      else this.list.append(entry(message.method, params));
    }
    while (this.list.childElementCount > MOST) {
      this.list.firstElementChild.remove();
      this.omitted += 1;
    }
    this.omitted += omitted;
    this.note.hidden = !this.omitted;
    show(this.note, `${count(this.omitted, "message")} not shown`);
    this.list.scrollTop = this.list.scrollHeight;
  }

  advance({ progress, total, message }) {
    const [done, all] = [Number(progress), Number(total)];
    const isKnown = Number.isFinite(all) && all > 0 && Number.isFinite(done);
    this.bar.hidden = false;
    if (isKnown) {
      this.bar.max = all;
      this.bar.value = Math.min(Math.max(done, 0), all);
    } else this.bar.removeAttribute("value");
    const figure = isKnown
      ? `${Math.round((100 * done) / all)} %, ${shown(progress)} of ${shown(total)}`
      : Number.isFinite(done)
        ? shown(progress)
        : "";
    show(this.words, [figure, typeof message === "string" ? clip(message, 300) : ""].filter(Boolean).join(" · "));
  }
}

// One line for a notification; a log message has its level and logger.
export function entry(method, params, time = new Date()) {
  const at = h("time", { class: "muted" }, time.toLocaleTimeString([], { hour12: false }));
  if (method !== "notifications/message")
    return h(
      "li",
      {},
      at,
      h("span", { class: "level" }, brief(String(method ?? "").replace("notifications/", ""), 60)),
      h("span", { class: "words" }, clip(shown(summary(params)), LONGEST)),
    );
  const level = LEVELS.has(params.level) ? params.level : "info";
  return h(
    "li",
    { class: level },
    at,
    h("span", { class: "level" }, level),
    typeof params.logger === "string" && h("span", { class: "muted" }, brief(params.logger, 40)),
    h("span", { class: "words" }, clip(shown(params.data ?? null), LONGEST)),
  );
}

function summary({ _meta, ...params }) {
  if (typeof params.uri === "string") return params.uri;
  return Object.keys(params).length ? params : "";
}
