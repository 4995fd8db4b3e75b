// Files to save: JSON and CSV.

import { h } from "./dom.js";

const UNSAFE = /[^\w.-]+/g;
const LATE = 10_000;

export function save(text, name, type = "application/json") {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = h("a", { href: url, download: name.replace(UNSAFE, "_").slice(0, 100), hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), LATE);
}

// One record a line, as RFC 4180 has it.
export function csv(rows) {
  return `${rows.map((row) => row.map(field).join(",")).join("\r\n")}\r\n`;
}

// A spreadsheet would run text that begins like a formula.
function field(value) {
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
