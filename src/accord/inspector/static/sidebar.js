// The list beside the content: tools, prompts and resources, searched together, and the history.

import { button, h, show } from "./dom.js";
import { brief, clip, milliseconds } from "./text.js";

const MOST = 500;
const NOUNS = { tool: "tools", prompt: "prompts", resource: "resources" };
const find = (id) => document.getElementById(id);

export class Sidebar {
  // `entries` are lists by kind; `current` is the view that is shown.
  constructor(page) {
    this.page = page;
    this.kind = "tool";
    this.entries = { tool: [], prompt: [], resource: [] };
    this.search = find("search");
    this.list = find("tools");
    this.kinds = find("kinds");
    this.search.addEventListener("input", () => this.draw());
    this.search.addEventListener("keydown", (event) => this.move(event));
    this.list.addEventListener("keydown", (event) => this.move(event));
    find("history-clear").addEventListener("click", () => page.history.clear());
  }

  choose(kind) {
    this.kind = kind;
    this.draw();
  }

  draw() {
    this.drawKinds();
    const sought = this.search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const all = this.entries[this.kind];
    const found = all.filter((entry) => {
      const text = `${nameOf(entry)} ${textOf(entry.name)} ${textOf(entry.title)} ${textOf(entry.description)}`;
      const words = text.toLowerCase();
      return sought.every((word) => words.includes(word));
    });
    const items = found.slice(0, MOST).map((entry) => this.item(entry));
    const rest = found.length - items.length;
    if (rest) items.push(h("li", { class: "none" }, `and ${rest.toLocaleString("en")} more: search for them`));
    const nouns = NOUNS[this.kind];
    show(
      this.list,
      items.length ? items : h("li", { class: "none" }, sought.length ? `No ${nouns} match.` : `No ${nouns}.`),
    );
    show(find("many"), found.length === all.length ? `${all.length}` : `${found.length} of ${all.length}`);
    this.search.placeholder = `Search ${nouns}`;
  }

  drawKinds() {
    this.kinds.hidden = !this.entries.prompt.length && !this.entries.resource.length;
    show(
      this.kinds,
      Object.entries(NOUNS).map(([kind, noun]) =>
        button(`${noun[0].toUpperCase()}${noun.slice(1)}`, () => this.choose(kind), {
          "data-kind": kind,
          "aria-pressed": String(kind === this.kind),
        }),
      ),
    );
  }

  item(entry) {
    const name = nameOf(entry);
    const isResource = this.kind === "resource";
    const title = isResource ? (textOf(entry.name) || name) : name;
    const words = isResource ? name : textOf(entry.description).trim().split("\n")[0];
    return h(
      "li",
      {},
      h(
        "a",
        {
          href: `#/${this.kind}/${encodeURIComponent(name.toWellFormed())}`,
          "data-name": name,
          "aria-current": String(this.page.current?.entry === entry),
        },
        h("span", { class: "tool-name" }, brief(title, 80) || '""'),
        h("span", { class: "tool-words" }, brief(words, 90)),
      ),
    );
  }

  mark(current) {
    for (const link of this.list.querySelectorAll("a"))
      link.setAttribute("aria-current", String(link.dataset.name === nameOf(current)));
  }

  drawHistory(entries) {
    show(
      find("history"),
      entries.map((each) => this.call(each)),
    );
    find("history-place").hidden = !entries.length;
  }

  call(each) {
    const when = new Date(each.time).toLocaleString([], {
      month: "short",
      day: "numeric",
      hour: "2-digit",
      minute: "2-digit",
    });
    return h(
      "li",
      {},
      h(
        "button",
        {
          type: "button",
          onclick: () => this.page.recall(each),
          "aria-label": `${each.name}, ${each.outcome}, at ${when}`,
          title: `${when} ${clip(each.text, 200)}`,
        },
        h("span", { class: `dot ${each.outcome}`, title: each.outcome }),
        h(
          "span",
          { class: "remembered" },
          h("span", { class: "tool-name" }, brief(each.name, 60)),
          each.text !== "{}" && h("span", { class: "tool-words" }, brief(each.text, 80)),
        ),
        h("span", { class: "muted" }, milliseconds(each.ms)),
      ),
    );
  }

  focusSearch() {
    this.search.focus();
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
      setTimeout(() => this.page.current?.focus());
    }
  }
}

// What an entry is called by: the URI of a resource, or of a template.
export function nameOf(entry) {
  return String(entry.uri ?? entry.uriTemplate ?? entry.name);
}

function textOf(value) {
  return typeof value === "string" ? value : "";
}
