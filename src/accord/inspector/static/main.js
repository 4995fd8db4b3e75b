// The page: the tools, the chosen tool, the history, and the connection to the server.

import { Stale, Stopped, ask, currentStart, later, takeLinked } from "./api.js";
import { announce, button, empty, h, show } from "./dom.js";
import { parse, stringify } from "./json.js";
import { brief, clip, milliseconds, visible } from "./text.js";
import { ToolView, loadAnswers } from "./tool.js";

const LOOK = 2000;
const MOST = 50;
const MOST_BYTES = 64 * 1024 * 1024;
const MOST_TOOLS = 500;
const find = (id) => document.getElementById(id);

class Page {
  constructor() {
    this.about = null;
    this.tools = [];
    this.views = new Map();
    this.history = [];
    this.render = {};
    this.main = find("main");
    this.search = find("search");
    this.list = find("tools");
    this.search.addEventListener("input", () => this.drawTools());
    this.search.addEventListener("keydown", (event) => this.move(event));
    this.list.addEventListener("keydown", (event) => this.move(event));
    window.addEventListener("hashchange", () => (takeLinked() ? location.reload() : this.route()));
    document.addEventListener("keydown", (event) => this.shortcut(event));
    find("theme").addEventListener("change", (event) => setTheme(event.target.value));
    find("help-open").addEventListener("click", () => find("help").showModal());
    find("help-close").addEventListener("click", () => find("help").close());
    find("back").addEventListener("click", () => this.screen("list"));
    find("skip").addEventListener("click", (event) => this.skip(event));
    setInterval(() => this.look(), LOOK);
    this.begin();
  }

  async begin() {
    try {
      this.about = await ask("about");
      this.introduce();
      this.start = currentStart();
      this.take((await ask("tools")).tools);
      this.drawTools();
      this.route();
      find("trouble").hidden = true;
      this.isLost = false;
    } catch (error) {
      this.trouble(error);
      if (!this.tools.length)
        show(
          this.main,
          empty("Nothing to show", error.message),
          button("Try again", () => this.begin()),
        );
    }
    afterPaint(() => PARTS.forEach((load) => load().catch(() => {})));
  }

  // Close the connection and open a new one; a command is restarted.
  async reconnect() {
    this.say("Connecting again …");
    try {
      await ask("reconnect");
      await this.begin();
      this.say("Connected again");
    } catch (error) {
      this.trouble(error);
    }
  }

  // Replace the tools; the forms of unchanged tools are kept.
  take(tools) {
    this.tools = tools.filter((tool) => typeof tool?.name === "string");
    const now = new Map(this.tools.map((tool) => [tool.name, stringify(tool)]));
    for (const [name, view] of this.views)
      if (now.get(name) !== stringify(view.tool)) this.views.delete(name);
  }

  introduce() {
    const { server, target, endpoint, kind } = this.about;
    const name = brief(String(server.title || server.name || "A server"), 40);
    show(find("server"), name);
    show(find("version"), brief(String(server.version ?? ""), 20));
    show(find("target"), kind === "local" ? new URL(endpoint, location.href).href : target);
    document.title = `${visible(name)} – Accord`;
    find("instructions").hidden = !this.about.instructions;
    show(find("instructions-text"), clip(String(this.about.instructions ?? ""), 20_000));
  }

  // Routing

  route() {
    const [, place, rest] = /^#\/(\w+)(?:\/(.*))?$/.exec(location.hash) ?? [];
    for (const link of document.querySelectorAll("nav.tabs a"))
      link.setAttribute("aria-current", link.dataset.place === (place ?? "tool") ? "page" : "false");
    this.place = place ?? "tool";
    document.body.dataset.place = this.place;
    if (place === "read") this.drawPasted();
    else if (place === "activity") this.drawActivity();
    else this.drawTool(rest === undefined ? null : decoded(rest));
  }

  async drawPasted() {
    try {
      const { Pasted } = await loadPasted();
      this.pasted ??= new Pasted((error) => this.trouble(error));
      if (this.place === "read") this.display(this.pasted.element);
    } catch (error) {
      this.trouble(error);
    }
  }

  display(element) {
    this.screen("work");
    if (this.main.firstChild === element) return;
    show(this.main, element);
    this.main.scrollTop = 0;
  }

  // Focus the content without changing the fragment.
  skip(event) {
    event.preventDefault();
    this.main.focus();
  }

  screen(name) {
    document.body.dataset.screen = name;
  }

  drawTool(name) {
    const tool = this.tools.find((each) => each.name === name) ?? (name === null ? this.tools[0] : null);
    if (!tool) {
      this.display(
        name === null
          ? empty("No tools", "This server offers none. Replies can still be read.")
          : empty("No such tool", name),
      );
      return;
    }
    try {
      this.current = this.view(tool);
    } catch (error) {
      this.display(empty("This tool cannot be shown", error.message));
      return;
    }
    this.display(this.current.element);
    if (name === null) this.screen("list");
    for (const link of this.list.querySelectorAll("a"))
      link.setAttribute("aria-current", String(link.dataset.name === tool.name));
  }

  view(tool) {
    if (!this.views.has(tool.name)) this.views.set(tool.name, new ToolView(this, tool));
    return this.views.get(tool.name);
  }

  drawTools() {
    const sought = this.search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const found = this.tools.filter((tool) => {
      const said = `${tool.name} ${words(tool.title)} ${words(tool.description)}`.toLowerCase();
      return sought.every((word) => said.includes(word));
    });
    const items = found.slice(0, MOST_TOOLS).map((tool) =>
      h(
        "li",
        {},
        h(
          "a",
          {
            href: `#/tool/${encodeURIComponent(tool.name)}`,
            "data-name": tool.name,
            "aria-current": String(this.current?.tool === tool),
          },
          h("span", { class: "tool-name" }, brief(tool.name, 80) || '""'),
          h("span", { class: "tool-words" }, brief(words(tool.description).trim().split("\n")[0], 90)),
        ),
      ),
    );
    const rest = found.length - items.length;
    if (rest)
      items.push(h("li", { class: "none" }, `and ${rest.toLocaleString("en")} more: search for them`));
    show(
      this.list,
      items.length
        ? items
        : h("li", { class: "none" }, sought.length ? "No tool has these words." : "No tools."),
    );
    show(
      find("many"),
      found.length === this.tools.length ? `${found.length}` : `${found.length} of ${this.tools.length}`,
    );
  }

  // History

  // A continued call replaces its entry; the oldest entries are dropped.
  remember(entry, before = null) {
    const rest = this.history.filter((each) => each.record !== before);
    this.history = [{ ...entry, time: new Date() }];
    let room = MOST_BYTES - weight(entry.record);
    for (const each of rest.slice(0, MOST - 1)) {
      room -= weight(each.record);
      if (room >= 0) this.history.push(each);
    }
    show(
      find("history"),
      this.history.map((each) => this.entry(each)),
    );
    find("history-place").hidden = false;
  }

  entry(each) {
    const when = each.time.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
    const words = [
      h("span", { class: `dot ${each.outcome}`, title: each.outcome }),
      h("span", { class: "tool-name" }, brief(each.view.tool.name, 60)),
      h("span", { class: "muted" }, milliseconds(each.record.ms)),
    ];
    return h(
      "li",
      {},
      h(
        "button",
        {
          type: "button",
          onclick: () => this.recall(each),
          "aria-label": `${each.view.tool.name}, ${each.outcome}, at ${when}`,
          title: `${when} ${clip(each.text, 200)}`,
        },
        words,
      ),
    );
  }

  recall({ view: then, record, text, render }) {
    const { name } = then.tool;
    const tool = this.tools.find((each) => each.name === name);
    const view = tool ? this.view(tool) : then;
    location.hash = `#/tool/${encodeURIComponent(name)}`;
    this.render = this.about.kind === "local" ? render : {};
    view.write(parse(text));
    view.text = text;
    view.display(record);
    this.screen("work");
  }

  // Call the tool for the next page of an answer.
  follow({ tool, arguments: given }) {
    const found = this.tools.find((each) => each.name === tool);
    if (!found) return;
    location.hash = `#/tool/${encodeURIComponent(tool)}`;
    const view = this.view(found);
    view.write(given);
    view.call();
  }

  // Counters, and the connection to the server

  async drawActivity() {
    try {
      const [{ activity }, counts] = await Promise.all([loadActivity(), ask("stats")]);
      if (this.place !== "activity") return;
      this.display(
        h(
          "div",
          { class: "work" },
          h(
            "header",
            { class: "title" },
            h("h1", {}, "Activity"),
            h(
              "p",
              { class: "description" },
              this.about?.kind === "local"
                ? "Calls since the start, of this page and of every client over HTTP."
                : "Calls that this page made since the start.",
            ),
          ),
          activity(counts),
        ),
      );
    } catch (error) {
      this.trouble(error);
    }
  }

  async look() {
    if (document.visibilityState !== "visible") return;
    if (this.isLost || this.start !== currentStart()) await this.begin();
    else if (this.place === "activity") await this.drawActivity();
    else if (this.about) await ask("stats").catch((error) => this.trouble(error));
  }

  trouble(error) {
    if (!(error instanceof Stopped || error instanceof Stale)) {
      this.say(error.message);
      return;
    }
    this.isLost = error instanceof Stopped;
    const place = find("trouble");
    if (!place.hidden && place.dataset.words === error.message) return;
    place.dataset.words = error.message;
    show(place, h("span", {}, error.message));
    place.hidden = false;
  }

  say(sentence) {
    announce(sentence);
  }

  // Keys

  shortcut(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select"))
      return;
    if (event.key === "/") {
      event.preventDefault();
      this.screen("list");
      this.search.focus();
    } else if (event.key === "?") find("help").showModal();
  }

  move(event) {
    const links = [...this.list.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement);
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const next = links[at + (event.key === "ArrowDown" ? 1 : -1)];
      (next ?? (event.key === "ArrowUp" ? this.search : links.at(-1)))?.focus();
    } else if (event.key === "Enter" && document.activeElement === this.search && links.length) {
      event.preventDefault();
      location.hash = links[0].getAttribute("href");
      setTimeout(() => this.current?.focus());
    }
  }
}

// Further modules are loaded after the first paint, so that they work without the server.
const loadPasted = () => later(() => import("./reply_reader.js"));
const loadActivity = () => later(() => import("./activity.js"));
const PARTS = [loadAnswers, loadPasted, loadActivity];

function afterPaint(work) {
  requestAnimationFrame(() => setTimeout(work));
}

function words(value) {
  return typeof value === "string" ? value : "";
}

function weight(record) {
  return record.messages.reduce((sum, line) => sum + line.size, 0);
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function setTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  localStorage.setItem("accord-theme", theme);
  find("theme").value = theme;
}

setTheme(localStorage.getItem("accord-theme") ?? "auto");
new Page();
