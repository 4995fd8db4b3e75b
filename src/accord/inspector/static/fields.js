// The fields of a form that hold one value each: given as JSON text, or nothing if they are empty.

import { button, h, identity, show } from "./dom.js";
import { stringify } from "./json.js";
import { clip } from "./text.js";

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
const LONG = new Set(["multiline", "markdown", "html", "sql"]);
const LONG_FROM = 200;
const PLACEHOLDERS = new Map([
  ["date-time", "2026-01-31T09:30:00Z"],
  ["time", "09:30:00"],
  ["uuid", "00000000-0000-0000-0000-000000000000"],
]);
const FEW = 500;
const SUGGESTED = 50;

export function choiceNode(schema) {
  const values = schema.enum ?? [true, false];
  const names = Array.isArray(schema.enumNames) ? schema.enumNames : [];
  const labels = values.map((value, at) =>
    clip(
      typeof names[at] === "string" ? names[at] : typeof value === "string" ? value : stringify(value),
      80,
    ),
  );
  return values.length > FEW ? searchNode(values, labels) : selectNode(values, labels);
}

function selectNode(values, labels) {
  const options = values.map((value, at) => h("option", { value: stringify(value) }, labels[at]));
  const control = h("select", {}, h("option", { value: "" }, "not set"), options);
  return {
    element: control,
    control,
    get: () => control.value || undefined,
    set: (value) => {
      control.value = value === undefined ? "" : stringify(value);
    },
  };
}

// Too many choices for a list: suggest those that match the input.
function searchNode(values, labels) {
  const found = h("datalist", { id: identity("choices") });
  const control = h("input", {
    type: "text",
    list: found.id,
    autocomplete: "off",
    placeholder: `Type to search ${values.length.toLocaleString("en")} choices`,
  });
  const suggest = () => {
    const word = control.value.toLowerCase();
    const fitting = labels.filter((label) => label.toLowerCase().includes(word)).slice(0, SUGGESTED);
    show(
      found,
      fitting.map((label) => h("option", {}, label)),
    );
  };
  control.addEventListener("input", suggest);
  suggest();
  return {
    element: h("div", {}, control, found),
    control,
    get(faults) {
      if (!control.value) return undefined;
      const at = labels.indexOf(control.value);
      if (at < 0) faults.push({ control, error: "is not one of the choices" });
      return at < 0 ? undefined : stringify(values[at]);
    },
    set(value) {
      const at = values.findIndex((each) => stringify(each) === stringify(value));
      control.value = value === undefined || at < 0 ? "" : labels[at];
    },
  };
}

export function fixedNode(schema) {
  const text = stringify(schema.const);
  return { element: h("code", { class: "fixed" }, clip(text, 200)), get: () => text, set() {} };
}

export function numberNode() {
  const control = h("input", { type: "text", inputmode: "decimal", autocomplete: "off" });
  return {
    element: control,
    control,
    get(faults) {
      const text = control.value.trim();
      if (!text || NUMBER.test(text)) return text || undefined;
      faults.push({ control, error: "is not a number" });
      return undefined;
    },
    set(value) {
      control.value = value === undefined || value === null ? "" : stringify(value);
    },
  };
}

// One line, until the text needs more: then it is an area, as it is where the schema expects long texts.
export function stringNode(schema) {
  const settings = { autocomplete: "off", spellcheck: "false", placeholder: PLACEHOLDERS.get(schema.format) };
  const area = () => h("textarea", { rows: "3", ...settings });
  const isLong = LONG.has(schema.format) || schema.maxLength > LONG_FROM || schema.minLength > LONG_FROM;
  let control = isLong ? area() : h("input", { type: schema.format === "date" ? "date" : "text", ...settings });
  const lengthen = (value) => {
    const longer = area();
    for (const { name, value: kept } of control.attributes)
      if (name === "id" || name.startsWith("aria-")) longer.setAttribute(name, kept);
    longer.value = value;
    const hasFocus = document.activeElement === control;
    control.replaceWith(longer);
    control = longer;
    if (hasFocus) longer.focus();
    more.remove();
  };
  const more = button("¶", () => lengthen(control.value), {
    class: "small lengthen",
    title: "Several lines",
    "aria-label": "Several lines",
  });
  const element = h("div", { class: "line-field" }, control, !isLong && control.type === "text" && more);
  element.addEventListener("paste", (event) => {
    const text = event.clipboardData?.getData("text/plain") ?? "";
    if (control.localName === "textarea" || !text.includes("\n")) return;
    event.preventDefault();
    const { value, selectionStart, selectionEnd } = control;
    lengthen(value.slice(0, selectionStart ?? 0) + text.replaceAll("\r\n", "\n") + value.slice(selectionEnd ?? value.length));
    control.dispatchEvent(new Event("input", { bubbles: true }));
  });
  return {
    element,
    get control() {
      return control;
    },
    blank: '""',
    get: () => (control.value ? JSON.stringify(control.value) : undefined),
    set(value) {
      const text = typeof value === "string" ? value : "";
      if (control.localName === "input" && text.includes("\n")) lengthen(text);
      else control.value = text;
    },
  };
}

export function anyNode() {
  const control = h("textarea", { rows: "2", class: "json", spellcheck: "false", placeholder: "JSON" });
  return {
    element: control,
    control,
    get(faults) {
      const text = control.value.trim();
      if (!text) return undefined;
      try {
        JSON.parse(text);
        return text;
      } catch (error) {
        faults.push({ control, error: `is not JSON: ${error.message}` });
        return undefined;
      }
    },
    set: (value) => {
      control.value = value === undefined ? "" : stringify(value);
    },
  };
}
