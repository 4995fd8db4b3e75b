// Words for people: what is invisible is shown, what is long is cut, what is quoted stays whole.

// Controls, what turns the direction of writing, what has no width, and halves of characters.
const CONTROLS = /[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;
const HIDDEN =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|\p{Cs}/gu;

export function visible(text) {
  return String(text).replace(HIDDEN, (character) => `\\u${hex(character, 4)}`);
}

function hex(character, digits) {
  return character.codePointAt(0).toString(16).padStart(digits, "0");
}

export function clip(text, most) {
  if (text.length <= most) return text;
  return `${text.slice(0, most)} … ${count(text.length - most, "more character")}`;
}

export function brief(text, most) {
  return text.length <= most ? text : `${text.slice(0, most)}…`;
}

export function count(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

export function bytes(size) {
  if (size < 1024) return count(size, "byte");
  return size < 1024 * 1024 ? `${(size / 1024).toFixed(1)} KB` : `${(size / 1024 / 1024).toFixed(1)} MB`;
}

export function milliseconds(given) {
  const ms = Number(given);
  if (ms >= 1000) return `${(ms / 1000).toFixed(2)} s`;
  return `${ms < 10 ? ms.toFixed(2) : ms.toFixed(0)} ms`;
}

export function sizeOf(text) {
  return new TextEncoder().encode(text).length;
}

const PIECE = /\p{L}{1,6}|\p{N}{1,3}|[^\s\p{L}\p{N}]{1,2}|\n+/gu;
const SAMPLE = 100_000;

// About how many tokens a model takes this for; a long text is judged by its beginning.
export function tokens(text) {
  const sample = text.slice(0, SAMPLE);
  const found = sample.match(PIECE)?.length ?? 0;
  return Math.round((found * text.length) / Math.max(sample.length, 1));
}

// For a terminal: what is invisible would be a key that is pressed, and is written down instead.
export function shell(word) {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  if (word.search(CONTROLS) < 0) return `'${word.replaceAll("'", `'"'"'`)}'`;
  return `$'${word.replace(/['\\]/g, "\\$&").replace(CONTROLS, escaped)}'`;
}

// For a program in Python: nothing in it looks like something else.
export function quoted(text) {
  return JSON.stringify(text).replace(HIDDEN, escaped);
}

function escaped(character) {
  return character.length > 1 ? `\\U${hex(character, 8)}` : `\\u${hex(character, 4)}`;
}
