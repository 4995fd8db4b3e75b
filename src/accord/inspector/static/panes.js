// Panes side by side: each can be folded, and the edges between them dragged or moved by the arrow keys.

import { button, h } from "./dom.js";
import { load, store } from "./stored.js";

const KEY = "accord-panes";
const LEAST = 0.15;
const STEP = 0.1;
const state = load(KEY, {});
const weights = state?.weights ?? {};
const folded = new Map(Array.isArray(state?.folded) ? state.folded.filter(isChoice) : []);
let isWrapped = state?.isWrapped ?? true;

// A pane and whether it is folded, where somebody has chosen that.
function isChoice(each) {
  return Array.isArray(each) && typeof each[0] === "string" && typeof each[1] === "boolean";
}

function remember() {
  store(KEY, { weights, folded: [...folded], isWrapped });
}

// Each pane is {name, title, content, tools, weight, startsFolded}.
export class Panes {
  constructor() {
    this.element = h("div", { class: "panes" });
    this.element.classList.toggle("wrapped", isWrapped);
    this.panes = [];
  }

  show(panes, { alone = null } = {}) {
    this.alone = alone;
    this.panes = panes.map((pane) => ({ ...pane, element: this.build(pane) }));
    const parts = this.panes.flatMap((pane, at) => (at ? [this.edge(at), pane.element] : [pane.element]));
    this.element.replaceChildren(...parts);
    this.layOut();
  }

  build({ name, title, content, tools = [] }) {
    return h(
      "section",
      { class: `pane pane-${name}`, "aria-label": title },
      h(
        "header",
        {},
        h("h2", {}, button(title, () => this.fold(name), { class: "folder", title: "Fold or unfold" })),
        h("span", { class: "buttons" }, tools),
      ),
      h("div", { class: "body" }, content),
    );
  }

  isFolded({ name, startsFolded }) {
    return this.alone === null ? (folded.get(name) ?? startsFolded ?? false) : name !== this.alone;
  }

  fold(name) {
    const chosen = new Map(this.panes.map((pane) => [pane.name, this.isFolded(pane)]));
    chosen.set(name, !chosen.get(name));
    if ([...chosen.values()].every(Boolean)) chosen.set(name, false);
    this.alone = null;
    for (const [each, isFolded] of chosen) folded.set(each, isFolded);
    remember();
    this.layOut();
  }

  layOut() {
    const columns = this.panes.map((pane) => {
      const isFolded = this.isFolded(pane);
      pane.element.classList.toggle("folded", isFolded);
      pane.element.querySelector(".folder").setAttribute("aria-expanded", String(!isFolded));
      return isFolded ? "38px" : `minmax(0, ${this.weightOf(pane)}fr)`;
    });
    this.element.style.setProperty("--columns", columns.join(" 12px "));
  }

  weightOf({ name, weight }) {
    const found = weights[name];
    return typeof found === "number" && found >= LEAST && found < 100 ? found : (weight ?? 1);
  }

  edge(at) {
    const [before, after] = [this.panes[at - 1], this.panes[at]];
    const move = (share) => this.resize(before, after, share);
    return h("div", {
      class: "edge",
      role: "separator",
      tabindex: "0",
      "aria-orientation": "vertical",
      "aria-label": `Between ${before.title} and ${after.title}`,
      onkeydown: (event) => {
        const way = { ArrowLeft: -STEP, ArrowRight: STEP }[event.key];
        if (!way) return;
        event.preventDefault();
        move(this.weightOf(before) + way);
      },
      onpointerdown: (event) => this.drag(event, before, after),
    });
  }

  drag(event, before, after) {
    event.preventDefault();
    const edge = event.currentTarget;
    edge.setPointerCapture(event.pointerId);
    const [left, right] = [before, after].map((pane) => pane.element.getBoundingClientRect());
    const sum = this.weightOf(before) + this.weightOf(after);
    edge.onpointermove = ({ clientX }) =>
      this.resize(before, after, (sum * (clientX - left.left)) / (right.right - left.left));
    edge.onpointerup = () => {
      edge.onpointermove = null;
      remember();
    };
  }

  resize(before, after, share) {
    if (this.isFolded(before) || this.isFolded(after)) return;
    const sum = this.weightOf(before) + this.weightOf(after);
    weights[before.name] = Math.min(Math.max(share, LEAST), sum - LEAST);
    weights[after.name] = sum - weights[before.name];
    remember();
    this.layOut();
  }

  wrapper() {
    const toggle = button(
      "Wrap",
      () => {
        isWrapped = !isWrapped;
        remember();
        this.element.classList.toggle("wrapped", isWrapped);
        toggle.setAttribute("aria-pressed", String(isWrapped));
      },
      { class: "small", "aria-pressed": String(isWrapped) },
    );
    return toggle;
  }
}
