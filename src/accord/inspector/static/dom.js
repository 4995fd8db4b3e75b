// Elements. Whatever comes from a server gets in as text, never as markup.

import { clip, visible } from "./text.js";

const SVG = "http://www.w3.org/2000/svg";
const WORDS = new Set(["title", "alt", "placeholder", "aria-label", "download", "data-column"]);

export function h(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

export function svg(tag, properties = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "hidden" || name === "disabled")
      element[name] = value;
    else if (value !== null && value !== undefined && value !== false)
      element.setAttribute(name, value === true ? "" : WORDS.has(name) ? visible(value) : value);
  }
  element.append(
    ...children
      .flat(Infinity)
      .filter((each) => each !== null && each !== undefined && each !== false)
      .map(node),
  );
  return element;
}

function node(child) {
  return child instanceof Node ? child : visible(child);
}

export function show(place, ...children) {
  place.replaceChildren(...children.flat(Infinity).filter(Boolean).map(node));
}

export function button(label, onclick, properties = {}) {
  return h("button", { type: "button", onclick, ...properties }, label);
}

export function empty(title, words) {
  return h("div", { class: "empty" }, h("strong", {}, title), h("span", {}, words));
}

let numbers = 0;

export function identity(prefix) {
  numbers += 1;
  return `${prefix}-${numbers}`;
}

const announcer = document.getElementById("announcer");
let fading;

export function announce(sentence) {
  announcer.textContent = visible(clip(sentence, 500));
  announcer.classList.add("shown");
  clearTimeout(fading);
  fading = setTimeout(() => announcer.classList.remove("shown"), 2500);
}

export async function copy(text, what = "Copied") {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const box = h("textarea", { value: text, readonly: true, "aria-hidden": "true", class: "offstage" });
    document.body.append(box);
    box.select();
    document.execCommand("copy");
    box.remove();
  }
  announce(what);
}
