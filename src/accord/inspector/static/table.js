// Items as a table: a screen of rows at a time, sorted by any column, saved as CSV.

import { prose } from "./code.js";
import { button, copy, h, show } from "./dom.js";
import { Exact, isObject, shown, stringify } from "./json.js";
import { csv, save } from "./save.js";
import { brief, clip, count } from "./text.js";

const ROWS = 50;
const COLUMNS = 12;
const CELL = 160;
const ORDERS = { none: "ascending", ascending: "descending", descending: "none" };

// Rows are counted from where their page begins. `card` shows all of one item.
export function table(items, { summary, pagination, card, name = "rows" } = {}) {
  return new Table(items, summary, pagination, card, name).element;
}

class Table {
  constructor(items, summary, pagination, card, name) {
    this.items = items;
    this.order = items.map((_, at) => at);
    this.card = card;
    this.name = name;
    this.isRows = items.every(isObject);
    const names = new Set();
    if (this.isRows) for (const item of items) for (const each of Object.keys(item)) names.add(each);
    this.names = [...names];
    this.columns = this.isRows ? this.names.slice(0, COLUMNS) : ["value"];
    const { offset } = pagination ?? {};
    this.isPlaced = Number.isSafeInteger(offset) && offset >= 0;
    this.first = this.isPlaced ? offset + 1 : 1;
    this.total = summary?.total;
    this.page = 0;
    this.sorted = { column: null, order: "none" };
    this.element = this.build();
    this.draw();
  }

  build() {
    this.heads = this.columns.map((name) => this.head(name));
    this.rows = h("tbody");
    this.detail = h("div", { class: "detail", "aria-live": "polite" });
    this.where = h("span", { class: "muted" });
    this.back = button("Previous", () => this.turn(-1), { class: "quiet" });
    this.on = button("Next", () => this.turn(1), { class: "quiet" });
    const left = this.names.length - this.columns.length;
    const head = h("tr", {}, h("th", { scope: "col", class: "number" }, "#"), this.heads);
    return h(
      "div",
      { class: "table" },
      h(
        "div",
        { class: "scroller", tabindex: "0", role: "region", "aria-label": "Items of the answer" },
        h("table", {}, h("thead", {}, head), this.rows),
      ),
      h(
        "div",
        { class: "pager" },
        this.where,
        left > 0 && h("span", { class: "muted" }, `${count(left, "further column")} in each row`),
        h(
          "span",
          { class: "turns" },
          this.items.length > ROWS && [this.back, this.on],
          button("Copy CSV", () => copy(this.csv(), "Copied as CSV"), { class: "small" }),
          button("Save CSV", () => save(this.csv(), `${this.name}.csv`, "text/csv"), { class: "small" }),
        ),
      ),
      this.detail,
    );
  }

  head(name) {
    const label = button(brief(name, 60), () => this.sortBy(name, cell), { class: "sorter" });
    const some = this.items.slice(0, ROWS).map((_, at) => this.valueOf(at, name));
    const isNumeric = some.every((value) => typeof value === "number" || value instanceof Exact);
    const cell = h("th", { scope: "col", "aria-sort": "none", class: isNumeric && "number" }, label);
    return cell;
  }

  valueOf(at, name) {
    const item = this.items[at];
    if (!this.isRows) return item;
    return Object.hasOwn(item, name) ? item[name] : undefined;
  }

  // Ascending, descending, and as it came.
  sortBy(name, cell) {
    const order = this.sorted.column === name ? ORDERS[this.sorted.order] : "ascending";
    this.sorted = { column: name, order };
    for (const each of this.heads) each.setAttribute("aria-sort", each === cell ? order : "none");
    this.order = this.items.map((_, at) => at);
    if (order !== "none") {
      const keys = this.items.map((_, at) => sortKey(this.valueOf(at, name)));
      const sign = order === "ascending" ? 1 : -1;
      this.order.sort((one, other) => compare(keys[one], keys[other], sign) || one - other);
    }
    this.page = 0;
    this.draw();
  }

  turn(step) {
    this.page += step;
    this.draw();
  }

  draw() {
    const start = this.page * ROWS;
    const some = this.order.slice(start, start + ROWS);
    show(
      this.rows,
      some.map((at) => this.row(at)),
    );
    show(this.detail);
    show(this.where, `Rows ${range(this.first + start, some.length)} of ${this.many()}`);
    this.back.disabled = this.page === 0;
    this.on.disabled = start + ROWS >= this.items.length;
  }

  many() {
    const here = this.items.length.toLocaleString("en");
    if (typeof this.total !== "number" || this.total === this.items.length) return here;
    const whole = this.total.toLocaleString("en");
    if (!this.isPlaced) return `${here} here, ${whole} in all`;
    return this.items.length > ROWS ? `${whole}, ${here} of them here` : whole;
  }

  row(at) {
    const item = this.items[at];
    const number = this.first + at;
    const open = () => {
      for (const each of this.rows.children) each.classList.toggle("open", each === row);
      show(this.detail, isObject(item) ? this.card(item) : prose(shown(item), "Item"));
    };
    const opener = button(String(number), open, { class: "opener", "aria-label": `Show row ${number}` });
    const cells = this.columns.map((name) => cell(this.valueOf(at, name), name));
    const row = h(
      "tr",
      { onclick: (event) => event.target === opener || open() },
      h("td", { class: "number" }, opener),
      cells,
    );
    return row;
  }

  // All columns and rows, in the order shown.
  csv() {
    const columns = this.isRows ? this.names : ["value"];
    const rows = this.order.map((at) => columns.map((name) => csvValue(this.valueOf(at, name))));
    return csv([columns, ...rows]);
  }
}

function csvValue(value) {
  if (value === undefined || value === null) return "";
  if (typeof value === "number" || value instanceof Exact) return { toString: () => stringify(value) };
  return shown(value);
}

// Numbers before words, and what is missing at the end.
function sortKey(value) {
  if (value === undefined || value === null) return [2, ""];
  if (typeof value === "number" || value instanceof Exact) return [0, Number(value)];
  return [1, typeof value === "string" ? value.slice(0, 200).toLowerCase() : stringify(value).slice(0, 200)];
}

function compare([kind, key], [otherKind, other], sign) {
  if (kind !== otherKind) return kind === 2 || otherKind === 2 ? kind - otherKind : sign * (kind - otherKind);
  if (key === other) return 0;
  return sign * (key < other ? -1 : 1);
}

function range(first, many) {
  return `${first.toLocaleString("en")}–${(first + many - 1).toLocaleString("en")}`;
}

// On a phone a row is a card, and each cell has the name of its column beside it.
function cell(value, name) {
  const label = { "data-column": brief(name, 60) };
  if (value === undefined) return h("td", label);
  if (typeof value === "number" || value instanceof Exact)
    return h("td", { class: "number", ...label }, stringify(value));
  if (value === null || typeof value === "boolean") return h("td", { class: "word", ...label }, String(value));
  return h(
    "td",
    { class: typeof value === "string" ? "" : "nested", ...label },
    h("div", { class: "cell" }, clip(shown(value), CELL)),
  );
}
