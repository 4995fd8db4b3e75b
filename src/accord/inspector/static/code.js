// Text of any length, of which only the lines in sight are in the page.

import { h, show } from "./dom.js";
import { lines } from "./json.js";
import { clip, visible } from "./text.js";

const HEIGHT = 19;
const FEW = 400;
const MOST = 100_000;
const MARGIN = 20;
const LONGEST = 2000;
const PARTS = /^(\s*)("(?:[^"\\]|\\.)*": )?(.*?)(,?)$/s;

export function code(rows, label) {
  const block = h("pre", { class: "lines" });
  const space = h("div", { class: "space" }, block);
  const box = h("div", { class: "code", tabindex: "0", role: "region", "aria-label": label }, space);
  if (rows.length <= FEW) {
    show(block, rows.map(line));
    return box;
  }
  space.style.height = `${rows.length * HEIGHT}px`;
  space.classList.add("virtual");
  let first = -1;
  const draw = () => {
    const start = Math.max(Math.floor(box.scrollTop / HEIGHT) - MARGIN, 0);
    if (start === first) return;
    first = start;
    const many = Math.ceil((box.clientHeight || 600) / HEIGHT) + 2 * MARGIN;
    block.style.transform = `translateY(${start * HEIGHT}px)`;
    show(block, rows.slice(start, start + many).map(line));
  };
  box.addEventListener("scroll", () => requestAnimationFrame(draw), { passive: true });
  draw();
  return box;
}

function line(text) {
  const [, indent, name, value, end] = PARTS.exec(clip(text, LONGEST));
  return h(
    "span",
    { class: "line" },
    indent,
    name && h("span", { class: "name" }, name),
    h("span", { class: kind(value) }, value),
    end,
  );
}

function kind(value) {
  if (value.startsWith('"')) return "string";
  if (/^-?\d/.test(value)) return "number";
  return /^(true|false|null)$/.test(value) ? "word" : "bracket";
}

// JSON, as much of it as somebody would scroll through.
export function json(value, label) {
  return code(lines(value, MOST), label);
}

// Words that break at the edge; very long ones as lines.
export function prose(text, label) {
  if (text.length > 50_000) return code(text.split("\n"), label);
  return h("pre", { class: "prose" }, visible(text));
}
