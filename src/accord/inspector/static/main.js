// The page: the server, its features, the history, and the connection.

import { Stale, Stopped, ask, chooseServer, currentStart, later, takeLinked } from "./api.js";
import { loadAnswers } from "./call_view.js";
import { announce, button, empty, h, show } from "./dom.js";
import { CallHistory } from "./history.js";
import { stringify } from "./json.js";
import { chosenServer, serverSelect, showIn, signInActions, signInNotice, unconnected } from "./servers.js";
import { Sidebar, nameOf } from "./sidebar.js";
import { load, store } from "./stored.js";
import { brief, clip, visible } from "./text.js";
import { ToolView, loadSnippets } from "./tool.js";

const LOOK = 2000;
const SOON = 300;
const THEME = "accord-theme";
const find = (id) => document.getElementById(id);

class Page {
  constructor() {
    this.about = null;
    this.servers = [];
    this.views = new Map();
    this.watched = new Set();
    this.render = {};
    this.main = find("main");
    this.sidebar = new Sidebar(this);
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

  // Find the servers, and open the one that this tab has shown.
  async begin() {
    try {
      await this.listServers();
      await this.open();
      if (this.servers.length > 1) await this.listServers();
    } catch (error) {
      this.trouble(error);
      if (!this.about) {
        const again = button("Try again", () => this.begin());
        show(this.main, empty("Nothing to show", error.message), again);
      }
    }
    afterPaint(() => PARTS.forEach((part) => part().catch(() => {})));
  }

  async listServers() {
    this.servers = (await ask("servers")).servers;
    const chosen = chosenServer(this.servers.length);
    chooseServer(chosen);
    const select = serverSelect(this.servers, chosen, (number) => this.change(number));
    showIn(find("servers"), this.servers.length > 1 ? select : null);
  }

  change(number) {
    chooseServer(number);
    this.views.clear();
    this.watched.clear();
    this.current = null;
    this.about = null;
    this.render = {};
    history.replaceState(null, "", "#/tool");
    this.begin();
  }

  // Show the server: what it is, and what it has.
  async open() {
    this.about = await ask("about");
    this.start = currentStart();
    this.introduce();
    this.keepHistory();
    find("trouble").hidden = true;
    this.isLost = false;
    try {
      await this.loadLists();
      if (this.about.isConnected === false) {
        this.about = await ask("about");
        this.introduce();
      }
    } catch (error) {
      if (error instanceof Stopped || error instanceof Stale) throw error;
      this.about = await ask("about");
      this.introduce();
      this.display(unconnected(this, error.message));
      return;
    }
    this.route();
    afterPaint(() => this.followServer().catch((error) => this.trouble(error)));
  }

  async loadLists() {
    this.take("tool", (await ask("tools")).tools);
    this.sidebar.draw();
    const features = await ask("features").catch((error) => {
      if (error instanceof Stopped || error instanceof Stale) throw error;
      this.say(`Prompts and resources could not be listed: ${error.message}`);
      return {};
    });
    this.take("prompt", features.prompts ?? []);
    this.take("resource", [...(features.resources ?? []), ...(features.resourceTemplates ?? [])]);
    this.sidebar.draw();
  }

  // Replace the entries of a kind; the forms of unchanged ones are kept.
  take(kind, entries) {
    const usable = entries.filter((each) => typeof (each?.uri ?? each?.uriTemplate ?? each?.name) === "string");
    const now = new Map(usable.map((each) => [`${kind}/${nameOf(each)}`, stringify(each)]));
    for (const [key, view] of this.views)
      if (key.startsWith(`${kind}/`) && now.get(key) !== stringify(view.entry)) this.views.delete(key);
    this.sidebar.entries[kind] = usable;
  }

  listsChanged() {
    clearTimeout(this.reloading);
    this.reloading = setTimeout(async () => {
      try {
        await this.loadLists();
        this.say("The lists have changed");
      } catch (error) {
        this.trouble(error);
      }
    }, SOON);
  }

  introduce() {
    const { server, target, endpoint, kind, hasSignIn, isGateway } = this.about;
    const name = brief(String(server.title || server.name || target || "A server"), 40);
    show(find("server"), name);
    show(find("version"), brief(String(server.version ?? ""), 20));
    show(find("target"), kind === "local" ? new URL(endpoint, location.href).href : target);
    showIn(find("signing"), hasSignIn ? signInActions(this) : null);
    document.title = `${visible(name)} – Accord`;
    find("instructions").hidden = !this.about.instructions;
    show(find("instructions-text"), clip(String(this.about.instructions ?? ""), 20_000));
    document.querySelector('nav.tabs a[data-place="upstreams"]').hidden = !isGateway;
  }

  // Names the server in what the browser keeps; a remote one is not known by name until it is connected.
  get key() {
    const { server, target, endpoint } = this.about;
    return (target ?? `${endpoint} ${server.name}`).slice(0, 300);
  }

  keepHistory() {
    if (this.history?.of === this.key) return;
    this.history?.close();
    this.history = new CallHistory(this.key, () => this.sidebar.drawHistory(this.history.entries));
    this.history.of = this.key;
    this.sidebar.drawHistory(this.history.entries);
  }

  // Listen to the server, and to its tasks.
  async followServer() {
    const [{ Notifications }, { Tasks }] = await Promise.all([loadNotifications(), loadTasks()]);
    if (this.followed === this.key) {
      this.notifications.restart();
      return;
    }
    this.followed = this.key;
    this.notifications?.close();
    this.tasks?.stop();
    this.notifications = new Notifications(this);
    this.notifications.start();
    this.tasks = new Tasks(this.key, () => this.drawBadges());
    this.drawBadges();
    if (["tasks", "notifications"].includes(this.place)) this.route();
  }

  drawBadges() {
    show(find("tasks-open"), this.tasks?.open ? String(this.tasks.open) : "");
    const isSeen = this.place === "notifications";
    show(find("notified"), !isSeen && this.notifications?.many ? String(this.notifications.many) : "");
  }

  // Close the connection and open a new one; a command is restarted.
  async reconnect() {
    this.say("Connecting again …");
    try {
      await ask("reconnect");
      this.say("Connected again");
    } catch (error) {
      this.trouble(error);
    }
    await this.begin();
  }

  // Routing

  route() {
    const [, place, rest] = /^#\/([\w-]+)(?:\/(.*))?$/s.exec(location.hash) ?? [];
    const isFeature = !place || place in VIEWS;
    this.place = isFeature ? "tool" : place;
    for (const link of document.querySelectorAll("nav.tabs a"))
      link.setAttribute("aria-current", link.dataset.place === this.place ? "page" : "false");
    document.body.dataset.place = this.place;
    if (isFeature) this.drawFeature(place ?? "tool", rest === undefined ? null : decoded(rest));
    else this.drawPlace(place);
    this.drawBadges();
  }

  async drawPlace(place) {
    try {
      const element = await PLACES[place]?.(this);
      if (element && this.place === place) this.display(element);
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

  async drawFeature(kind, name) {
    const entries = this.sidebar.entries[kind];
    const entry = name === null ? entries[0] : this.find(kind, name);
    if (!entry) {
      this.display(
        name === null
          ? empty("No tools", "This server has no tools. Replies can still be read.")
          : empty(`No such ${kind}`, name),
      );
      return;
    }
    try {
      const view = await this.view(kind, entry);
      if (this.place !== "tool") return;
      this.current = view;
    } catch (error) {
      this.display(empty(`This ${kind} cannot be shown`, error.message));
      return;
    }
    this.display(this.current.element);
    if (name === null) this.screen("list");
    if (this.sidebar.kind !== kind) this.sidebar.choose(kind);
    this.sidebar.mark(entry);
  }

  find(kind, name) {
    const entries = this.sidebar.entries[kind];
    return entries.find((each) => nameOf(each) === name) ?? entries.find((each) => nameOf(each).toWellFormed() === name);
  }

  async view(kind, entry) {
    const key = `${kind}/${nameOf(entry)}`;
    if (!this.views.has(key)) {
      const View = await VIEWS[kind]();
      if (!this.views.has(key)) this.views.set(key, new View(this, entry));
    }
    return this.views.get(key);
  }

  go(kind, name) {
    location.hash = `#/${kind}/${encodeURIComponent(name.toWellFormed())}`;
  }

  // History

  remember(entry, answer = null) {
    this.history.add(entry, answer);
  }

  async recall(each) {
    const entry = this.find(each.kind, each.name);
    if (!entry) {
      this.say(`The server no longer has ${each.name}`);
      return;
    }
    await loadAnswers();
    const view = await this.view(each.kind, entry);
    const kept = this.history.answerOf(each.id);
    this.render = this.about.kind === "local" ? (kept?.render ?? {}) : {};
    this.go(each.kind, each.name);
    view.recall(each, kept);
    this.screen("work");
  }

  // Call the tool for the next page of an answer.
  async callNext({ tool, arguments: given }) {
    const entry = this.find("tool", tool);
    if (!entry) return;
    this.go("tool", tool);
    const view = await this.view("tool", entry);
    view.write(stringify(given));
    view.call();
  }

  // Tasks and watched resources

  async follow(found, view, record) {
    const { Tasks } = await loadTasks();
    this.tasks ??= new Tasks(this.key, () => this.drawBadges());
    const task = this.tasks.follow(found, view, record);
    const { id } = view;
    task.onEnd = (reply) => {
      if (!reply) return;
      this.remember(
        { ...this.history.entries.find((each) => each.id === id), id, ...entryOf(view, reply) },
        { record: reply, render: {}, live: null },
      );
      if (view.id === id) view.display(reply);
    };
    show(view.place, task.element);
    task.start();
  }

  async displayTask(task) {
    const { name, text } = task.facts;
    const entry = this.find("tool", name);
    if (!entry) {
      this.say(`The server no longer has ${name}`);
      return;
    }
    await loadAnswers();
    const view = await this.view("tool", entry);
    this.go("tool", name);
    view.write(text);
    view.text = text;
    if (task.reply) view.display(task.reply);
    else {
      show(view.place, task.element);
      task.onEnd = (reply) => reply && view.display(reply);
      if (task.isFinal) task.look();
      else task.start();
    }
  }

  toggleWatch(uri) {
    if (!this.watched.delete(uri)) this.watched.add(uri);
    this.notifications?.toggle(uri);
  }

  resourceChanged(uri) {
    this.say(`Changed: ${brief(String(uri), 200)}`);
    if (this.current?.kind === "resource" && this.current.target() === uri) this.current.call();
  }

  // The connection to the page's server

  async look() {
    if (document.visibilityState !== "visible") return;
    if (this.isLost || (this.start !== undefined && this.start !== currentStart())) await this.begin();
    else if (this.place === "activity" || this.place === "upstreams") await this.drawPlace(this.place);
    else if (this.about) await ask("state").then(this.showState.bind(this), (error) => this.trouble(error));
  }

  showState(state) {
    showIn(find("sign-in"), signInNotice(state));
  }

  // A banner for a call without a reply.
  noReply(error, hint) {
    return h(
      "div",
      { class: "banner", role: "alert" },
      h("strong", {}, "No reply"),
      h("p", {}, clip(error.message, 2000)),
      h("p", { class: "hint" }, hint),
      this.about.kind === "local"
        ? null
        : h("p", {}, button("Connect again", () => this.reconnect(), { class: "quiet" })),
    );
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
      this.sidebar.focusSearch();
    } else if (event.key === "?") find("help").showModal();
  }
}

// Further modules are loaded after the first paint, so that they work without the server.
const loadPasted = () => later(() => import("./reply_reader.js"));
const loadActivity = () => later(() => import("./activity.js"));
const loadNotifications = () => later(() => import("./notifications.js"));
const loadTasks = () => later(() => import("./tasks.js"));
const loadUpstreams = () => later(() => import("./upstreams.js"));
const loadPrompt = () => later(() => import("./prompt.js"));
const loadResource = () => later(() => import("./resource.js"));
const PARTS = [
  loadAnswers,
  loadSnippets,
  loadPasted,
  loadActivity,
  loadNotifications,
  loadTasks,
  loadUpstreams,
  loadPrompt,
  loadResource,
];

const VIEWS = {
  tool: async () => ToolView,
  prompt: async () => (await loadPrompt()).PromptView,
  resource: async () => (await loadResource()).ResourceView,
};

// Places beside the features; each returns what to show.
const PLACES = {
  async read(page) {
    const { Pasted } = await loadPasted();
    page.pasted ??= new Pasted((error) => page.trouble(error));
    return page.pasted.element;
  },
  async activity(page) {
    const [{ activity }, counts] = await Promise.all([loadActivity(), ask("stats")]);
    return activity(counts, page.about?.kind === "local");
  },
  async upstreams() {
    const [{ upstreams }, found] = await Promise.all([loadUpstreams(), ask("upstreams")]);
    return upstreams(found.upstreams);
  },
  async tasks(page) {
    return page.tasks?.view((task) => page.displayTask(task)) ?? empty("Loading", "");
  },
  async notifications(page) {
    return page.notifications?.view() ?? empty("Loading", "");
  },
};

function entryOf(view, record) {
  const { response } = record.reading;
  const outcome = response.responseType === "error" ? "error" : "success";
  return { kind: view.kind, name: view.name, text: view.text, outcome, ms: record.ms, time: Date.now() };
}

function afterPaint(work) {
  requestAnimationFrame(() => setTimeout(work));
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
  store(THEME, theme);
  find("theme").value = theme;
}

setTheme(["light", "dark"].includes(load(THEME, "auto")) ? load(THEME, "auto") : "auto");
new Page();
