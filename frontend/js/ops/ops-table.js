/** The ops as a table beside their picture, with search, sorting and the same selection; for the keyboard and for readers. */

import { element, setAttributes } from "../ui/dom.js";
import { counted, cutName, formatCount } from "../ui/format.js";
import { cutNames, LONGEST_TITLE, shownNames } from "../ui/names.js";
import { orderOps } from "./ops-list.js";

/** @typedef {import("./ops-list.js").SortKey} SortKey */

/** Rows shown at once: more are a search away. */
const MOST_ROWS = 200;
const LONGEST_NAME = 80;

export class OpsTable {
  #ops;
  #onChoose;
  #search = element("input", { type: "search", placeholder: "Search ops and types", "aria-label": "Search the table of ops" });
  #note = element("p", { class: "table-note", "aria-live": "polite" });
  #body = element("tbody");
  /** @type {HTMLTableCellElement[]} */
  #headers;
  /** @type {Map<number, HTMLTableRowElement>} */
  #rows = new Map();
  #chosen = -1;
  /** @type {{ key: SortKey, descending: boolean }} */
  #order = { key: "index", descending: false };

  /**
   * @param {HTMLElement} host
   * @param {import("../step/step.js").OpNames} ops
   * @param {(op: number) => void} onChoose -1 for none
   */
  constructor(host, ops, onChoose) {
    this.#ops = ops;
    this.#onChoose = onChoose;
    this.#headers = [this.#makeHeader("name", "Op"), this.#makeHeader("type", "Type")];
    const caption = element("caption", { class: "visually-hidden" }, "Ops, in the order of the file unless sorted");
    const table = element(
      "table",
      { class: "groups", role: "grid" },
      caption,
      element("thead", {}, element("tr", {}, ...this.#headers)),
      this.#body,
    );
    const tools = element("div", { class: "table-tools" }, this.#search, this.#note);
    host.replaceChildren(tools, element("div", { class: "table-scroller" }, table));
    this.#search.addEventListener("input", () => this.#render());
    this.#body.addEventListener("click", (event) => this.#chooseRow(event.target));
    this.#body.addEventListener("keydown", (event) => this.#onKey(event));
    this.#render();
  }

  /** @param {number} op -1 for none; one that the table does not show is shown first */
  choose(op) {
    this.#rows.get(this.#chosen)?.setAttribute("aria-selected", "false");
    this.#chosen = op;
    if (op >= 0 && !this.#rows.has(op)) {
      this.#render();
    }
    const row = this.#rows.get(op);
    row?.setAttribute("aria-selected", "true");
    const scroller = this.#body.closest(".table-scroller");
    if (row && scroller instanceof HTMLElement) {
      this.#makeTabStop(row);
      scroller.scrollTop = row.offsetTop - scroller.clientHeight / 2;
    }
  }

  #render() {
    const found = orderOps(this.#ops, { search: this.#search.value, ...this.#order });
    const shown = [...found.subarray(0, MOST_ROWS)];
    if (this.#chosen >= 0 && !shown.includes(this.#chosen)) {
      shown.unshift(this.#chosen);
    }
    this.#rows.clear();
    const names = shownNames(this.#ops);
    const words = cutNames(shown.map((op) => names[op]), LONGEST_NAME);
    this.#body.replaceChildren(...shown.map((op, index) => this.#makeRow(op, words[index])));
    const first = this.#rows.get(this.#chosen) ?? this.#body.firstElementChild;
    first?.setAttribute("tabindex", "0");
    const all = found.length === this.#ops.names.length ? counted(found.length, "op") : `${formatCount(found.length)} of ${counted(this.#ops.names.length, "op")}`;
    this.#note.textContent = found.length === 0 ? "No op matches." : found.length > MOST_ROWS ? `${all}, the first ${MOST_ROWS} shown: search for others` : all;
  }

  /**
   * @param {number} op
   * @param {string} words its name as this table shows it
   */
  #makeRow(op, words) {
    const { names, types } = this.#ops;
    const row = element(
      "tr",
      { "data-op": op, tabindex: -1, "aria-selected": String(op === this.#chosen) },
      element("th", { scope: "row", title: cutName(names[op], LONGEST_TITLE) }, words),
      element("td", { role: "gridcell", class: "name" }, cutName(types[op] || "no type", 40)),
    );
    this.#rows.set(op, row);
    return row;
  }

  /**
   * @param {SortKey} key
   * @param {string} label
   */
  #makeHeader(key, label) {
    const button = element("button", { type: "button", class: "sort" }, label);
    button.addEventListener("click", () => this.#sortBy(key));
    return element("th", { scope: "col", "data-key": key }, button);
  }

  /**
   * Sort by a column; the second click reverses it, the third restores the order of the file.
   *
   * @param {SortKey} key
   */
  #sortBy(key) {
    const { key: current, descending } = this.#order;
    this.#order = current !== key ? { key, descending: false } : descending ? { key: "index", descending: false } : { key, descending: true };
    for (const header of this.#headers) {
      const sorted = header.dataset.key === this.#order.key;
      setAttributes(header, { "aria-sort": sorted ? (this.#order.descending ? "descending" : "ascending") : null });
    }
    this.#render();
  }

  /** @param {EventTarget | null} target */
  #chooseRow(target) {
    const row = target instanceof Element ? target.closest("tr") : null;
    if (row) {
      const op = Number(row.dataset.op);
      this.#onChoose(op === this.#chosen ? -1 : op);
    }
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const row = event.target instanceof HTMLTableRowElement ? event.target : null;
    const next = row && { ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling }[event.key];
    if (next instanceof HTMLTableRowElement) {
      event.preventDefault();
      this.#makeTabStop(next);
      next.focus();
    } else if (row && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      this.#chooseRow(row);
    } else if (row && event.key === "Escape") {
      this.#onChoose(-1);
    }
  }

  /** @param {HTMLElement} row */
  #makeTabStop(row) {
    for (const other of this.#body.querySelectorAll('tr[tabindex="0"]')) {
      other.setAttribute("tabindex", "-1");
    }
    row.setAttribute("tabindex", "0");
  }
}
