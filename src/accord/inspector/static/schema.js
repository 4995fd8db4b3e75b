// What a JSON Schema asks for, as far as a form can show it.

import { isObject } from "./json.js";

const DEEPEST = 32;

// A schema with its references followed and its parts put together.
export function resolved(schema, root, depth = 0) {
  if (!isObject(schema) || depth > DEEPEST) return {};
  let whole = schema;
  if (typeof schema.$ref === "string") {
    const { $ref, ...rest } = schema;
    whole = { ...resolved(pointed($ref, root), root, depth + 1), ...rest };
  }
  if (!Array.isArray(whole.allOf)) return whole;
  const { allOf, ...rest } = whole;
  return allOf.map((part) => resolved(part, root, depth + 1)).reduce(merged, rest);
}

function pointed(reference, root) {
  if (!reference.startsWith("#")) return {};
  const steps = decodeURIComponent(reference.slice(1)).split("/").slice(1);
  return steps.reduce((place, step) => place?.[step.replaceAll("~1", "/").replaceAll("~0", "~")], root);
}

function merged(one, other) {
  const both = { ...other, ...one };
  if (one.properties && other.properties) both.properties = { ...other.properties, ...one.properties };
  if (one.required && other.required) both.required = [...new Set([...one.required, ...other.required])];
  return both;
}

// The shapes that a value may have; null is no shape, but that a value may be left out.
export function variants(schema, root) {
  const several = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(several)) {
    const { anyOf, oneOf, ...shared } = schema;
    const found = several
      .map((each) => merged(resolved(each, root), shared))
      .filter((each) => each.type !== "null" && each.const !== null);
    return found.every((each) => "const" in each || each.enum) && found.length
      ? [{ ...shared, enum: found.flatMap((each) => each.enum ?? [each.const]) }]
      : found;
  }
  if (!Array.isArray(schema.type)) return [schema];
  return schema.type.filter((type) => type !== "null").map((type) => ({ ...schema, type }));
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
    type,
    schema.exclusiveMinimum !== undefined && `> ${text(schema.exclusiveMinimum)}`,
    range(schema.minimum, schema.maximum),
    schema.exclusiveMaximum !== undefined && `< ${text(schema.exclusiveMaximum)}`,
    schema.multipleOf !== undefined && `a multiple of ${text(schema.multipleOf)}`,
    range(schema.minLength, schema.maxLength, " characters"),
    range(schema.minItems, schema.maxItems, " items"),
    schema.pattern !== undefined && `like ${schema.pattern}`,
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
  return value?.source ?? String(value);
}

export function labelOf(schema, at) {
  return schema.title ?? (typeof schema.type === "string" ? schema.type : `choice ${at + 1}`);
}
