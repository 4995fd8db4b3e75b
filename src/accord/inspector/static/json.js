// JSON that loses nothing: a number that JavaScript would change stays as it was written.

const INDENT = 128;

export class Exact {
  constructor(source) {
    this.source = source;
  }

  valueOf() {
    return Number(this.source);
  }
}

export function parse(text) {
  if (!DELICATE.test(text)) return JSON.parse(text);
  return JSON.parse(text, (key, value, context) =>
    typeof value === "number" && context?.source !== undefined && String(value) !== context.source
      ? new Exact(context.source)
      : value,
  );
}

// A number that JavaScript may change: long, with an exponent, a fraction, or a minus before zero.
const DELICATE = /\d{16}|\d[.eE]|-0/;

// What is no JSON is null.
export function decoded(text) {
  try {
    return parse(text);
  } catch {
    return null;
  }
}

export function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value) && !(value instanceof Exact);
}

export function stringify(value) {
  if (value instanceof Exact) return value.source;
  if (Array.isArray(value)) return `[${value.map(stringify).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value ?? null);
  const members = Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}:${stringify(each)}`);
  return `{${members.join(",")}}`;
}

// A string as it is, anything else as JSON.
export function shown(value) {
  return typeof value === "string" ? value : stringify(value);
}

// One line for each member and item, indented by two; after `most` lines there are no more.
export function lines(value, most = Infinity) {
  const found = [];
  write(value, "", "", "", found, most);
  if (found.length < most) return found;
  return [...found.slice(0, most), "… and more than is shown here"];
}

function write(value, indent, before, after, found, most) {
  if (found.length >= most) return;
  const isList = Array.isArray(value);
  if (!isList && !isObject(value)) {
    found.push(indent + before + stringify(value) + after);
    return;
  }
  const entries = isList
    ? value.map((each) => ["", each])
    : Object.entries(value).map(([name, each]) => [`${JSON.stringify(name)}: `, each]);
  const [open, close] = isList ? "[]" : "{}";
  if (!entries.length) {
    found.push(indent + before + open + close + after);
    return;
  }
  found.push(indent + before + open);
  entries.forEach(([name, each], at) =>
    write(
      each,
      indent.length < INDENT ? `${indent}  ` : indent,
      name,
      at < entries.length - 1 ? "," : "",
      found,
      most,
    ),
  );
  found.push(indent + close + after);
}
