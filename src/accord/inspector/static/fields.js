// The fields of a form that hold one value each: given as JSON text, or nothing if they are empty.

import { h, identity, show } from "./dom.js";
import { stringify } from "./json.js";
import { clip } from "./text.js";

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
const SHORT = new Set(["date", "time", "date-time", "email", "uri", "uuid"]);
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
      if (at < 0) faults.push({ control, error: "is none of the choices" });
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
      faults.push({ control, error: "is no number" });
      return undefined;
    },
    set(value) {
      control.value = value === undefined || value === null ? "" : stringify(value);
    },
  };
}

export function stringNode(schema) {
  const isShort = SHORT.has(schema.format) || schema.maxLength <= 80;
  const settings = { autocomplete: "off", spellcheck: "false", placeholder: PLACEHOLDERS.get(schema.format) };
  const control = isShort
    ? h("input", { type: schema.format === "date" ? "date" : "text", ...settings })
    : h("textarea", { rows: "1", ...settings });
  return {
    element: control,
    control,
    blank: '""',
    get: () => (control.value ? JSON.stringify(control.value) : undefined),
    set: (value) => {
      control.value = typeof value === "string" ? value : "";
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
        faults.push({ control, error: `is no JSON: ${error.message}` });
        return undefined;
      }
    },
    set: (value) => {
      control.value = value === undefined ? "" : stringify(value);
    },
  };
}
