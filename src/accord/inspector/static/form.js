// A form made from a JSON Schema. Each field gives its value as JSON text, or nothing if it is empty.

import { button, h, identity, show } from "./dom.js";
import { anyNode, choiceNode, fixedNode, numberNode, stringNode } from "./fields.js";
import { Exact, isObject, parse, stringify } from "./json.js";
import { hints, kindOf, labelOf, resolved, variants } from "./schema.js";
import { clip } from "./text.js";

const DEEPEST = 8;
const OPEN = 3;
const LONGEST_STEP = 64;

export class Form {
  constructor(schema) {
    this.root = schema;
    const whole = resolved(schema, schema);
    const properties = isObject(whole.properties) ? whole.properties : {};
    this.node = objectNode({ ...whole, properties }, this, 0);
    this.isEmpty = !Object.keys(properties).length;
    this.others = h("ul", { class: "others", role: "alert", hidden: true });
    this.element = h("div", { class: "fields" }, this.node.element, this.others);
  }

  // Return the arguments as JSON text, and the errors in them.
  read() {
    const found = [];
    const text = this.node.get(found) ?? "{}";
    const fields = [...this.fields()];
    const faults = found.map(({ control, error }) => ({
      field: fields.find(([, node]) => node.holds?.(control))?.[0] ?? "",
      error,
    }));
    return { text, faults };
  }

  write(value) {
    this.node.set(value);
  }

  fields() {
    const found = new Map();
    collect(this.node, "", found);
    return found;
  }

  // Put each error beside its field or its nearest parent; the first gets the focus.
  complain(errors, { focus = true } = {}) {
    const fields = this.fields();
    for (const node of fields.values()) node.complain?.(null);
    const lost = [];
    let first = null;
    for (const { field, error } of errors) {
      const node = nearest(fields, field);
      if (node?.complain) {
        node.complain(error);
        first ??= node;
      } else lost.push(h("li", {}, field ? h("code", {}, field) : "The arguments", ` ${error}`));
    }
    show(this.others, lost);
    this.others.hidden = !lost.length;
    if (focus) first?.focus();
  }
}

function collect(node, path, found) {
  found.set(path, node);
  for (const [step, child] of node.children?.() ?? []) collect(child, joined(path, step), found);
}

function joined(path, step) {
  const word = clip(String(step), LONGEST_STEP).replace(/ … .*$/, "…");
  if (typeof step === "number") return `${path}[${word}]`;
  return path ? `${path}.${word}` : word;
}

function nearest(fields, path) {
  let place = path;
  while (place && !fields.has(place)) {
    const above = place.replace(/(\.[^.[]*|\[\d+\])$/, "");
    place = above === place ? "" : above;
  }
  return fields.get(place);
}

// A field that can hold any JSON: what its form cannot express is edited as JSON, so that nothing is lost.
function lossless(node) {
  const raw = anyNode();
  const note = h("p", { class: "description" }, "As JSON: the form cannot express this value. ");
  const asForm = button(
    "Use the form",
    () => {
      show(place, node.element);
      isRaw = false;
    },
    { class: "small" },
  );
  const place = h("div", { class: "lossless" }, node.element);
  let isRaw = false;
  return {
    ...node,
    element: place,
    get control() {
      return isRaw ? raw.control : node.control;
    },
    holds: (control) => raw.control === control || node.control === control || Boolean(node.holds?.(control)),
    children: () => (isRaw ? [] : (node.children?.() ?? [])),
    get: (faults) => (isRaw ? raw.get(faults) : node.get(faults)),
    set(value) {
      node.set(value);
      const faults = [];
      const found = node.get(faults);
      isRaw = value !== undefined && (faults.length > 0 || !isSame(found, value));
      if (isRaw) {
        raw.set(value);
        for (const { name, value: kept } of node.control?.attributes ?? [])
          if (name === "id" || name.startsWith("aria-")) raw.control.setAttribute(name, kept);
      }
      show(place, isRaw ? [note, raw.control, asForm] : node.element);
    },
  };
}

// True if JSON text has a value, whatever the order of its members.
function isSame(text, value) {
  return text !== undefined && stringify(sorted(parse(text))) === stringify(sorted(value));
}

function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, each]) => [`=${name}`, sorted(each)])
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  );
}

function makeNode(given, form, depth) {
  if (depth > DEEPEST) return anyNode();
  const schema = resolved(given, form.root);
  const shapes = variants(schema, form.root);
  if (shapes.length > 1) return variantNode(shapes, form, depth);
  const shape = shapes.length ? resolved(shapes[0], form.root) : schema;
  return MAKERS[kindOf(shape)](shape, form, depth);
}

// A field with its label, hint and error; `node` gives the value.
function labelled(name, schema, isRequired, form, depth) {
  const whole = resolved(schema, form.root);
  const node = lossless(makeNode(schema, form, depth));
  const id = identity("field");
  const hinted = identity("hint");
  const wrong = identity("wrong");
  const error = h("p", { class: "fault", id: wrong, hidden: true });
  const shapes = variants(whole, form.root);
  const sole = shapes.length > 1 ? {} : (shapes[0] ?? whole);
  const hint = hints(sole);
  const hasDefault = whole.default !== undefined && whole.default !== null;
  const words = [hint, hasDefault && `default ${clip(stringify(whole.default), 60)}`]
    .filter(Boolean)
    .join(", ");
  const label = h(
    node.control ? "label" : "span",
    { for: node.control && id, class: "label" },
    name.trim() ? name : h("code", {}, JSON.stringify(name)),
    isRequired && h("span", { class: "required", title: "required" }, " required"),
  );
  const about = [whole.description, sole.description].find((each) => typeof each === "string" && each);
  const description = about && h("p", { class: "description" }, clip(about, 400));
  if (node.control) {
    node.control.id = id;
    node.control.setAttribute("aria-describedby", `${hinted} ${wrong}`);
    if (isRequired) node.control.setAttribute("aria-required", "true");
  }
  const isWide = node.control?.matches("textarea");
  const width = node.control ? (isWide ? " wide" : "") : " group";
  const element = h(
    "div",
    { class: `field${width}` },
    h("div", { class: "heading" }, label, h("span", { class: "hint", id: hinted }, words)),
    node.control ? [node.element, description] : [description, node.element],
    error,
  );
  return {
    element,
    blank: node.blank,
    children: () => node.children(),
    get: (faults) => node.get(faults),
    set: (value) => node.set(value),
    holds: (control) => node.holds(control),
    rename: (words) => show(label, words),
    complain(sentence) {
      const all = sentence && !error.hidden ? `${error.textContent}; ${sentence}` : sentence;
      show(error, all ?? "");
      error.hidden = !all;
      element.classList.toggle("wrong", Boolean(all));
      node.control?.setAttribute("aria-invalid", String(Boolean(all)));
    },
    focus: () => (node.control ?? element.querySelector("input, textarea, select, button"))?.focus(),
  };
}

function objectNode(schema, form, depth) {
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const fields = new Map();
  let extra = [];
  const element = h("div", { class: "members" });
  const names = Object.keys(schema.properties);
  for (const name of [
    ...names.filter((each) => required.has(each)),
    ...names.filter((each) => !required.has(each)),
  ]) {
    const field = optional(name, schema.properties[name], required.has(name), form, depth + 1);
    fields.set(name, field);
    element.append(field.element);
  }
  return {
    element,
    children: () => [...fields],
    get(faults) {
      const members = [];
      for (const name of names) {
        const text = fields.get(name).get(faults);
        if (text !== undefined) members.push(`${JSON.stringify(name)}:${text}`);
      }
      for (const [name, value] of extra) members.push(`${JSON.stringify(name)}:${stringify(value)}`);
      return `{${members.join(",")}}`;
    },
    set(value) {
      const given = isObject(value) ? value : {};
      extra = Object.entries(given).filter(([name]) => !fields.has(name));
      for (const [name, field] of fields) field.set(Object.hasOwn(given, name) ? given[name] : undefined);
    },
  };
}

// An optional or deeply nested object is shown once it is added.
function optional(name, schema, isRequired, form, depth) {
  const whole = resolved(schema, form.root);
  const shapes = variants(whole, form.root);
  const isNested = shapes.some((shape) => kindOf(resolved(shape, form.root)) === "object");
  if (!isNested || (isRequired && depth <= OPEN)) return labelled(name, schema, isRequired, form, depth);
  let inner = null;
  const place = h("div");
  const element = h("div", { class: "optional" }, place);
  const add = () => {
    inner = labelled(name, schema, isRequired, form, depth);
    show(place, inner.element);
    inner.element
      .querySelector(".heading")
      .append(button("Remove", remove, { class: "small", "aria-label": `Remove ${name}` }));
  };
  const remove = () => {
    inner = null;
    show(
      place,
      button(
        `Add ${name}`,
        () => {
          add();
          inner.focus();
        },
        { class: "small" },
      ),
    );
  };
  remove();
  return {
    element,
    children: () => inner?.children?.() ?? [],
    complain(sentence) {
      if (sentence && !inner) add();
      inner?.complain(sentence);
    },
    focus: () => inner?.focus(),
    get: (faults) => inner?.get(faults),
    set(value) {
      if (value === undefined) return remove();
      add();
      return inner.set(value);
    },
  };
}

function arrayNode(schema, form, depth) {
  let items = [];
  const list = h("ol", { class: "items" });
  const draw = () => {
    items.forEach((item, at) => item.rename(`${at + 1}`));
    show(
      list,
      items.map((item, at) =>
        h(
          "li",
          {},
          item.element,
          button(
            "Remove",
            () => {
              items.splice(at, 1);
              draw();
            },
            { class: "small", "aria-label": `Remove item ${at + 1}` },
          ),
        ),
      ),
    );
  };
  const add = () => {
    const item = labelled(`${items.length + 1}`, schema.items, false, form, depth + 1);
    items.push(item);
    draw();
    return item;
  };
  const element = h(
    "div",
    {},
    list,
    button("Add an item", () => add().focus(), { class: "small" }),
  );
  return {
    element,
    children: () => items.map((item, at) => [at, item]),
    get(faults) {
      if (!items.length) return undefined;
      return `[${items.map((item) => item.get(faults) ?? item.blank ?? "null").join(",")}]`;
    },
    set(value) {
      items = [];
      for (const each of Array.isArray(value) ? value : []) add().set(each);
      draw();
    },
  };
}

function variantNode(shapes, form, depth) {
  const nodes = shapes.map(() => null);
  const choice = h(
    "select",
    { "aria-label": "Which kind" },
    shapes.map((shape, at) => h("option", { value: at }, labelOf(shape, at))),
  );
  const place = h("div");
  const current = () => (nodes[choice.value] ??= makeNode(shapes[choice.value], form, depth + 1));
  const draw = () => {
    current().control?.setAttribute("aria-label", "Value");
    show(place, current().element);
  };
  choice.addEventListener("change", draw);
  draw();
  return {
    element: h("div", { class: "variants" }, choice, place),
    holds: (control) => current().control === control,
    children: () => current().children?.() ?? [],
    get: (faults) => current().get(faults),
    set(value) {
      const fitting = shapes.findIndex((shape) => fits(shape, value));
      if (value !== undefined && fitting >= 0) choice.value = fitting;
      draw();
      current().set(value);
    },
  };
}

function fits(shape, value) {
  const kind = kindOf(shape);
  if (kind === "object") return isObject(value);
  if (kind === "array") return Array.isArray(value);
  if (kind === "number") return typeof value === "number" || value instanceof Exact;
  if (kind === "string") return typeof value === "string";
  return kind === "choice" && shape.type === "boolean" ? typeof value === "boolean" : true;
}

const MAKERS = {
  object: objectNode,
  array: arrayNode,
  choice: choiceNode,
  fixed: fixedNode,
  number: numberNode,
  string: stringNode,
  any: anyNode,
};
