// The calls of this browser to one server: arguments and outcomes are kept, answers only while the page is open.

import { load, store } from "./stored.js";

const MOST = 100;
const MOST_ANSWERS = 50;
const MOST_BYTES = 64 * 1024 * 1024;
const LONGEST = 64 * 1024;
const KINDS = new Set(["tool", "prompt", "resource"]);

export class CallHistory {
  // `key` names the server; another tab that calls it changes the list, too.
  constructor(key, onChange) {
    this.key = `accord-history:${key}`;
    this.onChange = onChange;
    this.answers = new Map();
    this.entries = this.load();
    this.hear = (event) => {
      if (event.key !== this.key && event.key !== null) return;
      this.entries = this.load();
      onChange();
    };
    addEventListener("storage", this.hear);
  }

  close() {
    removeEventListener("storage", this.hear);
  }

  load() {
    const found = load(this.key, []);
    return (Array.isArray(found) ? found : []).filter(isEntry).slice(0, MOST);
  }

  // A call that continues replaces its entry.
  add(entry, answer) {
    const isNew = !this.entries.some((each) => each.id === entry.id);
    const others = this.load().filter((each) => each.id !== entry.id);
    const kept = entry.text.length > LONGEST ? { ...entry, text: "{}", isCut: true } : entry;
    this.entries = [kept, ...others].slice(0, MOST);
    if (answer) this.keep(entry.id, answer);
    else this.answers.delete(entry.id);
    while (!store(this.key, this.entries) && this.entries.length > 1)
      this.entries = this.entries.slice(0, Math.ceil(this.entries.length / 2));
    this.onChange();
    return isNew;
  }

  keep(id, answer) {
    this.answers.delete(id);
    const all = [[id, answer], ...this.answers];
    let room = MOST_BYTES;
    this.answers = new Map(
      all.filter(([, each], at) => {
        room -= weight(each.record);
        return at === 0 || (at < MOST_ANSWERS && room >= 0);
      }),
    );
  }

  // What is still known of the answer to a call.
  answerOf(id) {
    return this.answers.get(id);
  }

  clear() {
    this.entries = [];
    this.answers.clear();
    store(this.key, []);
    this.onChange();
  }
}

function isEntry(each) {
  return (
    KINDS.has(each?.kind) &&
    [each.id, each.name, each.text, each.outcome].every((word) => typeof word === "string") &&
    [each.time, each.ms].every((number) => typeof number === "number")
  );
}

function weight(record) {
  return record.messages.reduce((sum, line) => sum + line.size, 0);
}
