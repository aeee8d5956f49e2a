/** A table that a click on a column's head sorts. A row can be chosen: one stop for the Tab key, arrow keys, Enter. */

import { element, setAttributes } from "./dom.js";
import { formatCount } from "./format.js";

/**
 * @template Row
 * @typedef {object} Column
 * @property {string} key
 * @property {string} label
 * @property {boolean} [numeric] sorted with the greatest first
 * @property {(row: Row) => number | string | null} valueOf by which it is sorted; null comes last
 * @property {(row: Row) => (Node | string)[]} cells what a cell holds
 */

/**
 * Rows in the order of a column; ties keep their order.
 *
 * @template Row
 * @param {readonly Row[]} rows
 * @param {(row: Row) => number | string | null} valueOf
 * @param {boolean} descending
 * @returns {Row[]}
 */
export function sorted(rows, valueOf, descending) {
  const sign = descending ? -1 : 1;
  const values = new Map(rows.map((row) => [row, valueOf(row)]));
  return [...rows].sort((one, other) => {
    const [a, b] = [values.get(one) ?? null, values.get(other) ?? null];
    if (a === null || b === null) {
      return Number(a === null) - Number(b === null);
    }
    return sign * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }));
  });
}

/** @template Row */
export class SortedTable {
  #columns;
  #keyOf;
  #onChoose;
  #atFirst;
  #body = element("tbody");
  #more = element("button", { type: "button", class: "button is-quiet", hidden: true });
  /** @type {HTMLTableCellElement[]} */
  #headers;
  /** @type {readonly Row[]} */
  #rows = [];
  /** @type {{ key: string, descending: boolean } | null} */
  #order;
  #limit;
  /** @type {string | number | null} */
  #chosen = null;

  /**
   * @param {HTMLElement} host
   * @param {object} options
   * @param {string} options.caption read aloud, not shown
   * @param {string} options.look class of the table
   * @param {readonly Column<Row>[]} options.columns the first one names the row
   * @param {(row: Row) => string | number} options.keyOf
   * @param {(row: Row) => void} options.onChoose also for the chosen row, to choose nothing
   * @param {{ key: string, descending: boolean } | null} [options.order]
   * @param {number} [options.atFirst] how many rows are shown without asking
   */
  constructor(host, { caption, look, columns, keyOf, onChoose, order = null, atFirst = 200 }) {
    this.#columns = columns;
    this.#keyOf = keyOf;
    this.#onChoose = onChoose;
    this.#order = order;
    this.#limit = this.#atFirst = atFirst;
    this.#headers = columns.map((column) => this.#header(column));
    const table = element("table", { class: `sorted ${look}`, role: "grid" });
    table.append(
      element("caption", { class: "visually-hidden" }, caption),
      element("thead", {}, element("tr", {}, ...this.#headers)),
      this.#body,
    );
    host.replaceChildren(element("div", { class: "table-scroller" }, table), this.#more);
    this.#more.addEventListener("click", () => {
      this.#limit = Infinity;
      this.refresh();
    });
    this.#body.addEventListener("click", (event) => this.#chooseRow(event.target));
    this.#body.addEventListener("keydown", (event) => this.#onKey(event));
  }

  /** @param {readonly Row[]} rows */
  show(rows) {
    this.#rows = rows;
    this.#limit = this.#atFirst;
    this.refresh();
  }

  /** Write all rows again: what their cells hold has changed. */
  refresh() {
    const column = this.#columns.find(({ key }) => key === this.#order?.key);
    const order = column ? sorted(this.#rows, column.valueOf, Boolean(this.#order?.descending)) : [...this.#rows];
    const shown = order.slice(0, this.#limit);
    const hadFocus = this.#body.contains(document.activeElement);
    this.#body.replaceChildren(...shown.map((row) => this.#makeRow(row)));
    this.#more.hidden = shown.length === order.length;
    this.#more.textContent = `Show all ${formatCount(order.length)}`;
    for (const header of this.#headers) {
      const direction = this.#order?.descending ? "descending" : "ascending";
      setAttributes(header, { "aria-sort": header.dataset.key === this.#order?.key ? direction : null });
    }
    const stop = this.#chosenRow ?? this.#body.querySelector("tr");
    stop?.setAttribute("tabindex", "0");
    if (hadFocus && stop instanceof HTMLElement) {
      stop.focus({ preventScroll: true });
    }
  }

  /** @param {string | number | null} key of the chosen row, which is scrolled to */
  choose(key) {
    this.#chosenRow?.setAttribute("aria-selected", "false");
    this.#chosen = key;
    const row = this.#chosenRow;
    const scroller = this.#body.closest(".table-scroller");
    if (row && scroller) {
      row.setAttribute("aria-selected", "true");
      this.#makeTabStop(row);
      const hidden = row.offsetTop < scroller.scrollTop || row.offsetTop > scroller.scrollTop + scroller.clientHeight - 40;
      scroller.scrollTop = hidden ? row.offsetTop - scroller.clientHeight / 2 : scroller.scrollTop;
    }
  }

  /** @returns {HTMLTableRowElement | null} */
  get #chosenRow() {
    const rows = [...this.#body.rows];
    return this.#chosen === null ? null : (rows.find((row) => row.dataset.key === String(this.#chosen)) ?? null);
  }

  /** @param {Row} row */
  #makeRow(row) {
    const key = this.#keyOf(row);
    const [first, ...rest] = this.#columns;
    return element(
      "tr",
      { "data-key": key, tabindex: -1, "aria-selected": String(key === this.#chosen) },
      element("th", { scope: "row" }, ...first.cells(row)),
      ...rest.map(({ numeric, cells }) => element("td", { role: "gridcell", class: numeric ? "number" : null }, ...cells(row))),
    );
  }

  /** @param {Column<Row>} column */
  #header({ key, label, numeric = false }) {
    const button = element("button", { type: "button", class: "sort" }, label);
    button.addEventListener("click", () => {
      const descending = this.#order?.key === key ? !this.#order.descending : numeric;
      this.#order = { key, descending };
      this.refresh();
    });
    return element("th", { scope: "col", class: numeric ? "number" : null, "data-key": key }, button);
  }

  /** @param {EventTarget | null} target */
  #chooseRow(target) {
    const row = target instanceof Element && !target.closest("a, button") ? target.closest("tr") : null;
    const chosen = row && this.#rows.find((each) => String(this.#keyOf(each)) === row.dataset.key);
    if (chosen) {
      this.#onChoose(chosen);
    }
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const row = event.target instanceof HTMLTableRowElement ? event.target : null;
    const next = { ArrowDown: row?.nextElementSibling, ArrowUp: row?.previousElementSibling }[event.key];
    if (next instanceof HTMLTableRowElement) {
      event.preventDefault();
      this.#makeTabStop(next);
      next.focus();
    } else if (row && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      this.#chooseRow(row);
    }
  }

  /** @param {HTMLTableRowElement} row */
  #makeTabStop(row) {
    for (const other of this.#body.querySelectorAll('tr[tabindex="0"]')) {
      other.setAttribute("tabindex", "-1");
    }
    row.setAttribute("tabindex", "0");
  }
}
