// What a JSON Schema asks for, as far as a form can show it. A stranger's schema may be anything.

import { isObject, stringify } from "./json.js";
import { brief } from "./text.js";

const MOST_STEPS = 200;

// A schema with its references followed and its parts put together; circles come to an end.
export function resolved(schema, root, steps = { left: MOST_STEPS }) {
  if (!isObject(schema) || steps.left <= 0) return {};
  steps.left -= 1;
  let whole = schema;
  if (typeof schema.$ref === "string") {
    const { $ref, ...rest } = schema;
    whole = { ...resolved(pointed($ref, root), root, steps), ...rest };
  }
  if (!Array.isArray(whole.allOf)) return whole;
  const { allOf, ...rest } = whole;
  return allOf.map((part) => resolved(part, root, steps)).reduce(merged, rest);
}

function pointed(reference, root) {
  if (!reference.startsWith("#")) return undefined;
  try {
    return decodeURIComponent(reference.slice(1))
      .split("/")
      .slice(1)
      .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"))
      .reduce((place, step) => (Object.hasOwn(place, step) ? place[step] : undefined), root);
  } catch {
    return undefined; // no pointer, or one that leads nowhere
  }
}

function merged(one, other) {
  const both = { ...other, ...one };
  if (isObject(one.properties) && isObject(other.properties))
    both.properties = { ...other.properties, ...one.properties };
  if (Array.isArray(one.required) && Array.isArray(other.required))
    both.required = [...new Set([...one.required, ...other.required])];
  return both;
}

// The shapes that a value may have; null is no shape, but that a value may be left out.
export function variants(schema, root) {
  const several = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(several)) {
    const { anyOf, oneOf, ...shared } = schema;
    const found = several
      .map((each) => [each, merged(resolved(each, root), shared)])
      .filter(([, each]) => each.type !== "null" && each.const !== null);
    const shapes = found.map(([, shape]) => shape);
    return shapes.length && shapes.every((each) => "const" in each || Array.isArray(each.enum))
      ? [{ ...shared, ...choices(found) }]
      : shapes;
  }
  if (!Array.isArray(schema.type)) return [schema];
  return schema.type.filter((type) => type !== "null").map((type) => ({ ...schema, type }));
}

// Constants that each have a title of their own are one choice.
function choices(found) {
  return {
    enum: found.flatMap(([, shape]) => ("const" in shape ? [shape.const] : shape.enum)),
    enumNames: found.flatMap(([given, shape]) =>
      "const" in shape ? [given?.title] : shape.enum.map(() => null),
    ),
  };
}

// Which field a schema wants.
export function kindOf(schema) {
  if (Array.isArray(schema.enum)) return "choice";
  if ("const" in schema) return "fixed";
  if (schema.type === "boolean") return "choice";
  if (schema.type === "integer" || schema.type === "number") return "number";
  if (schema.type === "string") return "string";
  if (schema.type === "array" && isObject(schema.items)) return "array";
  if (isObject(schema.properties) && Object.keys(schema.properties).length) return "object";
  return "any";
}

// What there is to know of a field, in few words.
export function hints(schema) {
  const kind = kindOf(schema);
  const type = kind === "number" || kind === "string" ? (schema.format ?? schema.type) : "";
  return [
    type && text(type),
    schema.exclusiveMinimum !== undefined && `> ${text(schema.exclusiveMinimum)}`,
    range(schema.minimum, schema.maximum),
    schema.exclusiveMaximum !== undefined && `< ${text(schema.exclusiveMaximum)}`,
    schema.multipleOf !== undefined && `a multiple of ${text(schema.multipleOf)}`,
    range(schema.minLength, schema.maxLength, " characters"),
    range(schema.minItems, schema.maxItems, " items"),
    schema.pattern !== undefined && `like ${text(schema.pattern)}`,
  ]
    .filter(Boolean)
    .join(", ");
}

function range(least, most, unit = "") {
  if (least === undefined && most === undefined) return "";
  if (most === undefined) return `≥ ${text(least)}${unit}`;
  return least === undefined ? `≤ ${text(most)}${unit}` : `${text(least)}–${text(most)}${unit}`;
}

function text(value) {
  return brief(typeof value === "string" ? value : stringify(value), 60);
}

export function labelOf(schema, at) {
  if (typeof schema.title === "string") return schema.title;
  return typeof schema.type === "string" ? schema.type : `choice ${at + 1}`;
}
