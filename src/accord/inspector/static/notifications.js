// Notifications of the server that belong to no call: changes of lists and resources, log messages.

import { Stopped, ask } from "./api.js";
import { button, empty, h, show } from "./dom.js";
import { decoded, isObject } from "./json.js";
import { entry } from "./live.js";
import { brief, count } from "./text.js";

const MOST = 500;
const AGAIN = 5000;
const LIST = /^notifications\/(tools|prompts|resources)\/list_changed$/;

// Listens while the page is in sight: a browser opens few connections to one server.
export class Notifications {
  constructor(page) {
    this.page = page;
    this.uris = new Set();
    this.many = 0;
    this.omitted = 0;
    this.changed = "";
    this.list = h("ol", { class: "log", "aria-label": "Notifications" });
    this.note = h("p", { class: "muted", role: "status" });
    this.watched = h("ul", { class: "watched" });
    this.onVisible = () => (document.hidden ? this.stop() : this.start());
    document.addEventListener("visibilitychange", this.onVisible);
  }

  close() {
    document.removeEventListener("visibilitychange", this.onVisible);
    this.stop();
  }

  start() {
    if (!this.abort && !document.hidden) this.listen();
  }

  stop() {
    clearTimeout(this.timer);
    this.abort?.abort();
    this.abort = null;
  }

  restart() {
    this.stop();
    this.start();
  }

  async listen() {
    const abort = new AbortController();
    this.abort = abort;
    const body = JSON.stringify({ uris: [...this.uris] });
    try {
      await ask("listen", body, abort.signal, (texts, omitted) => this.take(texts, omitted));
      this.tell("The server has ended the subscription.");
    } catch (error) {
      if (error.name === "AbortError") return;
      this.tell(error instanceof Stopped ? "Not connected." : `Not listening: ${brief(error.message, 300)}`);
    }
    if (this.abort !== abort) return;
    this.abort = null;
    this.timer = setTimeout(() => this.start(), AGAIN);
  }

  tell(words) {
    show(this.note, words);
  }

  take(texts, omitted) {
    this.tell("Listening.");
    if (this.changed) this.page.say(this.changed);
    this.changed = "";
    const changed = new Set();
    for (const text of texts) {
      const message = decoded(text);
      if (!isObject(message) || typeof message.method !== "string") continue;
      if (message.method === "notifications/subscriptions/acknowledged") continue;
      const params = isObject(message.params) ? message.params : {};
      this.list.prepend(entry(message.method, params));
      this.many += 1;
      const list = LIST.exec(message.method);
      if (list) changed.add(list[1]);
      if (message.method === "notifications/resources/updated") this.page.resourceChanged(params.uri);
    }
    while (this.list.childElementCount > MOST) this.list.lastElementChild.remove();
    this.omitted += omitted;
    if (changed.size) this.page.listsChanged();
    this.page.drawBadges();
  }

  toggle(uri) {
    if (!this.uris.delete(uri)) this.uris.add(uri);
    this.changed = this.uris.has(uri) ? "Watching for changes" : "No longer watching";
    this.drawWatched();
    this.restart();
  }

  drawWatched() {
    show(
      this.watched,
      [...this.uris].map((uri) =>
        h("li", {}, h("code", {}, brief(uri, 200)), " ", button("Stop", () => this.toggle(uri), { class: "small" })),
      ),
    );
  }

  view() {
    this.many = 0;
    this.drawWatched();
    const clear = () => {
      this.list.replaceChildren();
      this.omitted = 0;
    };
    return h(
      "div",
      { class: "work" },
      h(
        "header",
        { class: "title" },
        h("h1", {}, "Notifications"),
        h(
          "p",
          { class: "description" },
          "Changed lists, updated resources and log messages outside of calls, newest first.",
        ),
        this.note,
      ),
      this.uris.size > 0 && h("section", {}, h("h2", {}, "Watched resources"), this.watched),
      this.list.childElementCount
        ? this.list
        : empty("No notifications", "Watch a resource, or wait for the server to report a change."),
      this.omitted > 0 && h("p", { class: "muted" }, `${count(this.omitted, "message")} not shown`),
      h("div", { class: "actions" }, button("Clear", clear, { class: "quiet" })),
    );
  }
}
