/**
 * The groups as a table beside the canvas, with search, sorting and the same selection.
 *
 * A grid with one stop for the Tab key: the arrow keys move between rows, Enter or Space selects.
 *
 * What takes the longest stands first. Rows keep their places while placements change, as they do when the run is played:
 * a person's click on a head sorts them anew.
 */

import { deviceMark, lockMark } from "./device-legend.js";
import { element, setAttributes } from "../ui/dom.js";
import { counted, cutName, formatBytes, formatCount, formatTime } from "../ui/format.js";
import { cutNames, LONGEST_TITLE, shownName } from "../ui/names.js";
import { SPLIT } from "./colouring.js";
import { differences } from "./placement.js";
import { foundGroups, orderGroups } from "./group-order.js";
import { splitCell } from "./split-places.js";

/** @typedef {import("../ui/contracts.js").Group} Group */
/** @typedef {import("./group-order.js").SortKey} SortKey */

const ROWS_AT_FIRST = 50;
const GROUP_WORDS = { search: "groups", row: "group", column: "Group" };

/** @type {{ key: SortKey, label: string, numeric: boolean }[]} */
const COLUMNS = [
  { key: "name", label: "Group", numeric: false },
  { key: "device", label: "Device", numeric: false },
  { key: "ops", label: "Ops", numeric: true },
  { key: "time", label: "Time", numeric: true },
  { key: "bytes", label: "Outputs", numeric: true },
];

const LONGEST_NAME = 120;

export class GroupsTable {
  #groups;
  #looks;
  #timeOf;
  #partsOf;
  #onChoose;
  #onSearch;
  #onSelect;
  #table = element("table", { class: "groups", role: "grid", "aria-multiselectable": "true" });
  #body = element("tbody");
  #note = element("p", { class: "table-note", "aria-live": "polite" });
  #more = element("button", { type: "button", class: "button is-quiet", hidden: true }, "Show all");
  #search;
  #rowWord;
  /** @type {HTMLTableCellElement[]} */
  #headers = [];
  /** @type {Map<number, { row: HTMLTableRowElement, device: HTMLTableCellElement, time: HTMLTableCellElement }>} */
  #rows = new Map();
  /** @type {ArrayLike<number> | null} */
  #placement = null;
  #chosen = -1;
  /** @type {{ selected: readonly number[], locked: readonly number[] }} */
  #marked = { selected: [], locked: [] };
  #limit = ROWS_AT_FIRST;
  /** @type {{ key: SortKey, descending: boolean }} */
  #order = { key: "time", descending: true };
  /** All groups, as they were last sorted. @type {readonly Group[]} */
  #sequence = [];
  /** Whether some were sorted by a time or a device that was not known yet. */
  #isProvisional = true;

  /**
   * @param {HTMLElement} host
   * @param {readonly Group[]} groups
   * @param {object} options
   * @param {{ search: string, row: string, column: string }} [options.words] for its rows
   * @param {readonly import("./devices.js").DeviceLook[]} options.looks empty: no device column
   * @param {(group: Group, device: number | null) => number | null} options.timeOf in µs
   * @param {(group: Group) => readonly import("./colouring.js").Part[] | null} [options.partsOf] of one on several devices; null: not known yet
   * @param {(group: number) => void} options.onChoose -1 for none
   * @param {(found: Uint8Array | null) => void} options.onSearch [groups] 1: found; null: no search
   * @param {(groups: number[], isRange: boolean) => void} [options.onSelect] a row was chosen with Ctrl, or rows with Shift
   */
  constructor(host, groups, { words = GROUP_WORDS, looks, timeOf, partsOf = () => null, onChoose, onSearch, onSelect = (chosen) => onChoose(chosen.at(-1) ?? -1) }) {
    this.#search = element("input", { type: "search", placeholder: `Search ${words.search} and op types`, "aria-label": `Search ${words.search}` });
    this.#rowWord = words.row;
    this.#onSelect = onSelect;
    this.#groups = groups;
    this.#looks = looks;
    this.#timeOf = timeOf;
    this.#partsOf = partsOf;
    this.#onChoose = onChoose;
    this.#onSearch = onSearch;
    const columns = COLUMNS.filter(({ key }) => key !== "device" || looks.length > 0).map((column) =>
      column.key === "name" ? { ...column, label: words.column } : column);
    this.#headers = columns.map((column) => this.#makeHeader(column));
    const caption = element("caption", { class: "visually-hidden" }, `${words.search[0].toUpperCase()}${words.search.slice(1)}, the longest first unless sorted otherwise`);
    this.#table.append(caption, element("thead", {}, element("tr", {}, ...this.#headers)), this.#body);
    const scroller = element("div", { class: "table-scroller" }, this.#table);
    host.replaceChildren(element("div", { class: "table-tools" }, this.#search, this.#note), scroller, this.#more);
    this.#search.addEventListener("input", () => {
      this.#render();
      this.#onSearch(this.found);
    });
    this.#more.addEventListener("click", () => this.#showAll());
    this.#body.addEventListener("click", (event) => this.#onClick(event));
    this.#body.addEventListener("keydown", (event) => this.#onKey(event));
    this.#sort();
  }

  /** @param {ArrayLike<number> | null} placement [groups] */
  show(placement) {
    const changed = differences(this.#placement, placement, this.#groups.length);
    this.#placement = placement;
    for (const group of changed) {
      this.#fillRow(group);
    }
    this.#sortOnce();
  }

  /** @returns {Uint8Array | null} [groups] 1: the search finds it; null: there is no search */
  get found() {
    if (this.#search.value.trim() === "") {
      return null;
    }
    const found = new Uint8Array(this.#groups.length);
    for (const { id } of this.#found) {
      found[id] = 1;
    }
    return found;
  }

  /** Write all times again after `timeOf` has changed. */
  refresh() {
    for (const group of this.#rows.keys()) {
      this.#fillRow(group);
    }
    this.#sortOnce();
  }

  /** Sort again after a person has asked for other times. */
  sortAnew() {
    this.#sort();
  }

  /** Sort by what was not known when the rows were sorted. */
  #sortOnce() {
    if (this.#isProvisional && this.#knowsAll) {
      this.#sort();
    }
  }

  get #knowsAll() {
    return this.#groups.every((group) => this.#timeOf(group, this.#deviceOf(group)) !== null);
  }

  #sort() {
    this.#sequence = orderGroups(this.#groups, {
      search: "",
      ...this.#order,
      deviceOf: (group) => this.#deviceOf(group),
      timeOf: (group) => this.#timeOf(group, this.#deviceOf(group)),
    });
    this.#isProvisional = !this.#knowsAll;
    for (const header of this.#headers) {
      const sorted = header.dataset.key === this.#order.key;
      setAttributes(header, { "aria-sort": sorted ? (this.#order.descending ? "descending" : "ascending") : null });
    }
    this.#render();
  }

  /**
   * @param {number} group -1 for none
   * @param {boolean} reveal whether to scroll to it, clearing a search that hides it
   */
  choose(group, reveal) {
    this.#rows.get(this.#chosen)?.row.setAttribute("aria-selected", "false");
    this.#chosen = group;
    if (group >= 0 && reveal && !this.#rows.has(group)) {
      this.#search.value = "";
      this.#onSearch(null);
      this.#render();
    }
    const row = this.#rows.get(group)?.row;
    if (row) {
      row.setAttribute("aria-selected", "true");
      this.#makeTabStop(row);
      if (reveal) {
        this.#scrollTo(row);
      }
    }
  }

  /**
   * Mark groups in addition to the chosen one.
   *
   * @param {"selected" | "locked"} mark
   * @param {readonly number[]} groups
   */
  mark(mark, groups) {
    const before = this.#marked[mark];
    this.#marked[mark] = groups;
    for (const group of new Set([...before, ...groups])) {
      this.#markRow(group);
    }
  }

  /** @param {number} group */
  #markRow(group) {
    const row = this.#rows.get(group)?.row;
    if (row) {
      const isSelected = group === this.#chosen || this.#marked.selected.includes(group);
      row.setAttribute("aria-selected", String(isSelected));
      row.classList.toggle("is-locked", this.#marked.locked.includes(group));
      this.#fillRow(group);
    }
  }

  /** @returns {readonly Group[]} in the order of the rows */
  get #found() {
    return foundGroups(this.#sequence, this.#search.value);
  }

  #render() {
    const found = this.#found;
    const shown = found.slice(0, this.#limit);
    const chosen = this.#groups[this.#chosen];
    if (chosen && !shown.includes(chosen) && found.includes(chosen)) {
      shown.unshift(chosen);
    }
    this.#rows.clear();
    const words = cutNames(shown.map(shownName), LONGEST_NAME);
    const rows = shown.map((group, index) => this.#makeRow(group, words[index]));
    this.#body.replaceChildren(...rows);
    const first = this.#rows.get(this.#chosen)?.row ?? rows[0];
    first?.setAttribute("tabindex", "0");
    this.#more.hidden = shown.length === found.length;
    this.#more.textContent = `and ${formatCount(found.length - shown.length)} more`;
    this.#note.textContent = this.#words(Math.min(this.#limit, found.length), found.length);
  }

  /**
   * @param {number} shown
   * @param {number} found
   */
  #words(shown, found) {
    if (found === 0) {
      return `No ${this.#rowWord} matches.`;
    }
    const all = found === this.#groups.length ? counted(found, this.#rowWord) : `${formatCount(found)} of ${counted(this.#groups.length, this.#rowWord)}`;
    const which = this.#order.key === "time" && this.#order.descending && !this.#isProvisional ? "longest" : "first";
    return shown < found ? `${all}, the ${formatCount(shown)} ${which} shown` : all;
  }

  /**
   * @param {Group} group
   * @param {string} words its name as this table shows it
   */
  #makeRow(group, words) {
    const device = element("td", { role: "gridcell" });
    const time = element("td", { role: "gridcell", class: "number" });
    const row = element(
      "tr",
      { "data-group": group.id, class: this.#marked.locked.includes(group.id) ? "is-locked" : null, tabindex: -1, "aria-selected": String(group.id === this.#chosen || this.#marked.selected.includes(group.id)) },
      element("th", { scope: "row", title: cutName(group.name, LONGEST_TITLE) }, words),
      ...(this.#looks.length > 0 ? [device] : []),
      element("td", { role: "gridcell", class: "number" }, formatCount(group.ops)),
      time,
      element("td", { role: "gridcell", class: "number" }, formatBytes(group.output_bytes)),
    );
    this.#rows.set(group.id, { row, device, time });
    this.#fillRow(group.id);
    return row;
  }

  /** @param {number} index */
  #fillRow(index) {
    const cells = this.#rows.get(index);
    if (!cells) {
      return;
    }
    const device = this.#deviceOf(index);
    const look = device === null ? null : (this.#looks[device] ?? null);
    const several = () => splitCell(this.#partsOf(this.#groups[index]), this.#looks);
    const lock = this.#marked.locked.includes(index) ? [lockMark()] : [];
    cells.device.replaceChildren(...(look ? [deviceMark(look), look.label] : device === SPLIT ? several() : ["–"]), ...lock);
    cells.time.textContent = formatTime(this.#timeOf(this.#groups[index], device));
  }

  /**
   * @param {number | Group} group
   * @returns {number | null}
   */
  #deviceOf(group) {
    const index = typeof group === "number" ? group : group.id;
    return this.#placement ? this.#placement[index] : null;
  }

  /** @param {{ key: SortKey, label: string, numeric: boolean }} column */
  #makeHeader({ key, label, numeric }) {
    const button = element("button", { type: "button", class: "sort" }, label);
    button.addEventListener("click", () => this.#sortBy(key, numeric));
    return element("th", { scope: "col", class: numeric ? "number" : null, "data-key": key }, button);
  }

  /**
   * Sort by a column; the second click reverses it, the third restores the graph's order.
   *
   * @param {SortKey} key
   * @param {boolean} numeric greatest first
   */
  #sortBy(key, numeric) {
    const { key: current, descending } = this.#order;
    if (current !== key) {
      this.#order = { key, descending: numeric };
    } else if (descending === numeric) {
      this.#order = { key, descending: !numeric };
    } else {
      this.#order = { key: "index", descending: false };
    }
    this.#sort();
  }

  #showAll() {
    this.#limit = this.#groups.length;
    this.#render();
  }

  /** @param {Event} event */
  #onClick(event) {
    const row = event.target instanceof Element ? event.target.closest("tr") : null;
    if (row instanceof HTMLTableRowElement) {
      this.#chooseRow(row, event instanceof MouseEvent ? event : null);
    }
  }

  /**
   * @param {HTMLTableRowElement} row
   * @param {MouseEvent | KeyboardEvent | null} event with Ctrl the row is added or taken out, with Shift all rows up to it
   */
  #chooseRow(row, event) {
    const group = Number(row.dataset.group);
    if (event?.shiftKey && this.#chosen >= 0) {
      this.#onSelect(this.#rowsBetween(this.#chosen, group), true);
    } else if (event?.ctrlKey || event?.metaKey) {
      this.#onSelect([group], false);
    } else {
      this.#onChoose(group === this.#chosen ? -1 : group);
    }
  }

  /**
   * @param {number} from a group
   * @param {number} to a group
   * @returns {number[]} the groups of the shown rows between them, `to` the last
   */
  #rowsBetween(from, to) {
    const order = [...this.#rows.keys()];
    const [first, last] = [order.indexOf(from), order.indexOf(to)];
    if (first < 0) {
      return [to];
    }
    const between = order.slice(Math.min(first, last), Math.max(first, last) + 1);
    return last < first ? between.reverse() : between;
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const row = event.target instanceof HTMLTableRowElement ? event.target : null;
    if (!row) {
      return;
    }
    const next = { ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling }[event.key];
    if (next instanceof HTMLTableRowElement) {
      event.preventDefault();
      this.#makeTabStop(next);
      next.focus();
      if (event.shiftKey) {
        const groups = [row, next].map((each) => Number(each.dataset.group));
        this.#onSelect(this.#marked.selected.includes(groups[0]) ? [groups[1]] : groups, true);
      }
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.#chooseRow(row, event);
    } else if (event.key === "Escape") {
      this.#onChoose(-1);
    }
  }

  /** @param {HTMLTableRowElement} row */
  #makeTabStop(row) {
    for (const other of this.#body.querySelectorAll('tr[tabindex="0"]')) {
      other.setAttribute("tabindex", "-1");
    }
    row.setAttribute("tabindex", "0");
  }

  /**
   * Scroll the table alone, not the page.
   *
   * @param {HTMLElement} row
   */
  #scrollTo(row) {
    const scroller = this.#table.parentElement;
    if (scroller) {
      scroller.scrollTop = row.offsetTop - scroller.clientHeight / 2;
    }
  }
}
