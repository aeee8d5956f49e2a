/** The ops of a step as a table: search, sort, the same selection as the timeline and the graph. */

import { element, setText } from "../ui/dom.js";
import { counted, cutName, formatCount, formatTime } from "../ui/format.js";
import { cutNames, LONGEST_TITLE, shownNames } from "../ui/names.js";
import { matches, parseOpQuery } from "./op-query.js";

/** @typedef {import("./step.js").Step} Step */
/** @typedef {import("./op-query.js").OpFacts & { op: number, device: number, holdsUp: boolean }} OpRow */

const ROWS_AT_ONCE = 12;
const MOST_MORE = 100;
const LONGEST_NAME = 60;

/** @type {readonly { name: string, title: string, isNumber: boolean, key: (row: OpRow, list: OpList) => number | string }[]} */
const COLUMNS = [
  { name: "name", title: "Op", isNumber: false, key: ({ op }, list) => list.nameOf(op) },
  { name: "type", title: "Type", isNumber: false, key: ({ op }, list) => list.typeOf(op) },
  { name: "device", title: "Device", isNumber: false, key: ({ device }) => device },
  { name: "start", title: "From", isNumber: true, key: ({ startUs }) => startUs },
  { name: "time", title: "Time", isNumber: true, key: ({ timeUs }) => timeUs },
  { name: "slack", title: "Slack", isNumber: true, key: ({ slackUs }) => slackUs },
];

/** Share of the step below which a slack is none. */
const NO_SLACK = 1e-9;

export class OpList {
  #labels;
  #onChoose;
  #input = element("input", { type: "search", "data-key-target": "search", "aria-label": "Search ops", placeholder: "Name, type or device; > 5 ms; critical", autocomplete: "off", spellcheck: "false" });
  #found = element("p", { class: "hint", role: "status" });
  #table = element("div", { class: "table-scroller" });
  #more = element("button", { type: "button", class: "button", hidden: true });
  #shown = ROWS_AT_ONCE;
  #sort = { name: "time", down: true };
  #chosen = -1;
  /** @type {OpRow[]} */
  #rows = [];
  /** @type {string[]} */
  #names = [];
  /** In the file. @type {string[]} */
  #whole = [];
  /** @type {string[]} */
  #types = [];

  /**
   * @param {HTMLElement} host
   * @param {readonly string[]} labels of devices
   * @param {(op: number) => void} onChoose
   */
  constructor(host, labels, onChoose) {
    this.#labels = labels;
    this.#onChoose = onChoose;
    this.#input.addEventListener("input", () => this.#restart());
    this.#input.addEventListener("keydown", (event) => this.#onSearchKey(event));
    this.#more.addEventListener("click", () => {
      this.#shown += MOST_MORE;
      this.#draw();
    });
    host.replaceChildren(element("div", { class: "op-search" }, this.#input, this.#found), this.#table, this.#more);
  }

  /**
   * @param {Step} step
   * @param {import("./step.js").OpNames} ops
   * @param {(op: number) => string} groupName
   */
  show(step, ops, groupName) {
    this.#names = shownNames(ops);
    this.#whole = ops.names;
    this.#types = ops.types;
    this.#rows = opRows(step, ops, this.#labels, groupName);
    this.#draw();
  }

  /** @param {number} op the chosen one, -1 for none */
  choose(op) {
    if (op !== this.#chosen) {
      this.#chosen = op;
      for (const row of this.#table.querySelectorAll("tbody tr")) {
        row.setAttribute("aria-selected", String(Number(row.getAttribute("data-op")) === op));
      }
    }
  }

  /** @param {number} op */
  nameOf(op) {
    return this.#names[op];
  }

  /** @param {number} op */
  typeOf(op) {
    return this.#types[op];
  }

  #restart() {
    this.#shown = ROWS_AT_ONCE;
    this.#draw();
  }

  #draw() {
    const query = parseOpQuery(this.#input.value);
    const found = query.error ? [] : this.#rows.filter((row) => matches(query, row));
    const column = COLUMNS.find(({ name }) => name === this.#sort.name) ?? COLUMNS[4];
    const ordered = sorted(found, (row) => column.key(row, this), this.#sort.down);
    this.#input.setAttribute("aria-invalid", String(query.error !== ""));
    setText(this.#found, query.error || this.#foundWords(found));
    this.#table.replaceChildren(this.#tableOf(ordered.slice(0, this.#shown)));
    const left = ordered.length - this.#shown;
    this.#more.hidden = left <= 0;
    setText(this.#more, `Show ${formatCount(Math.min(left, MOST_MORE))} more of ${formatCount(left)}`);
  }

  /** @param {readonly OpRow[]} found */
  #foundWords(found) {
    const us = found.reduce((sum, { timeUs }) => sum + timeUs, 0);
    return `${counted(found.length, "op")} of ${formatCount(this.#rows.length)}, ${formatTime(us)} in all`;
  }

  /** @param {readonly OpRow[]} rows */
  #tableOf(rows) {
    const words = cutNames(rows.map(({ op }) => this.nameOf(op)), LONGEST_NAME);
    return element(
      "table",
      { class: "ops" },
      element("caption", { class: "visually-hidden" }, "Ops of the step"),
      element("thead", {}, element("tr", {}, ...COLUMNS.map((column) => this.#head(column)))),
      element("tbody", {}, ...rows.map((row, index) => this.#row(row, words[index]))),
    );
  }

  /** @param {typeof COLUMNS[number]} column */
  #head({ name, title, isNumber }) {
    const isSorted = this.#sort.name === name;
    const button = element("button", { type: "button", class: "sort" }, title);
    button.addEventListener("click", () => {
      this.#sort = { name, down: isSorted ? !this.#sort.down : isNumber };
      this.#restart();
      /** @type {HTMLElement | null} */ (this.#table.querySelector(`th[data-column=${name}] button`))?.focus();
    });
    const order = this.#sort.down ? "descending" : "ascending";
    return element("th", { scope: "col", "data-column": name, class: isNumber ? "number" : null, "aria-sort": isSorted ? order : null }, button);
  }

  /**
   * @param {OpRow} row
   * @param {string} words its name as this table shows it
   */
  #row({ op, device, startUs, timeUs, slackUs, critical, holdsUp }, words) {
    const button = element("button", { type: "button", class: "link-button name", title: cutName(this.#whole[op], LONGEST_TITLE) }, words);
    button.addEventListener("click", () => this.#onChoose(op));
    return element(
      "tr",
      { "data-op": op, "aria-selected": String(op === this.#chosen) },
      element("th", { scope: "row" }, button),
      element("td", { class: "name" }, cutName(this.typeOf(op), 30)),
      element("td", {}, this.#labels[device]),
      element("td", { class: "number" }, formatTime(startUs)),
      element("td", { class: "number" }, formatTime(timeUs)),
      slackCell(critical, holdsUp, slackUs),
    );
  }

  /**
   * Enter goes to the first op found, and from op to op; the arrow leads into the table.
   *
   * @param {KeyboardEvent} event
   */
  #onSearchKey(event) {
    const rows = [...this.#table.querySelectorAll("tbody tr")];
    if (event.key === "Enter" && rows.length > 0) {
      event.preventDefault();
      const at = rows.findIndex((row) => Number(row.getAttribute("data-op")) === this.#chosen);
      this.#onChoose(Number(rows[(at + 1) % rows.length].getAttribute("data-op")));
    } else if (event.key === "ArrowDown") {
      event.preventDefault();
      /** @type {HTMLElement | null} */ (this.#table.querySelector("tbody button"))?.focus();
    } else if (event.key === "Escape" && this.#input.value) {
      event.stopPropagation();
      this.#input.value = "";
      this.#restart();
    }
  }
}

/**
 * @param {boolean} critical
 * @param {boolean} holdsUp
 * @param {number} slackUs
 */
function slackCell(critical, holdsUp, slackUs) {
  if (holdsUp) {
    const title = "It is not on the critical chain, but a later end would make the step longer: the chain waits behind it, or for it too";
    return element("td", { class: "number", title }, "holds up the chain");
  }
  return element("td", { class: "number" }, critical ? "critical" : formatTime(slackUs));
}

/**
 * @param {Step} step
 * @param {import("./step.js").OpNames} ops
 * @param {readonly string[]} labels of devices
 * @param {(op: number) => string} groupName
 * @returns {OpRow[]} by op
 */
export function opRows(step, { names, short_names: short, types }, labels, groupName) {
  const [devices, slacks] = [step.array("op.device"), step.array("op.slack_us")];
  const starts = step.array("op.start_us");
  return Array.from(devices, (device, op) => ({
    op,
    device,
    text: `${short ? `${short[op]}\n` : ""}${names[op]}\n${types[op]}\n${groupName(op)}\n${labels[device]}`.toLowerCase(),
    timeUs: step.timeOf(op),
    slackUs: slacks[op],
    startUs: starts[op],
    critical: step.isCritical[op] === 1,
    holdsUp: step.isCritical[op] === 0 && slacks[op] <= NO_SLACK * step.stepTimeUs,
  }));
}

/**
 * @template Row
 * @param {readonly Row[]} rows
 * @param {(row: Row) => number | string} key
 * @param {boolean} down
 * @returns {Row[]} those with equal keys in their order
 */
function sorted(rows, key, down) {
  const sign = down ? -1 : 1;
  const keyed = rows.map((row) => ({ row, at: key(row) }));
  keyed.sort((one, other) => sign * (one.at < other.at ? -1 : one.at > other.at ? 1 : 0));
  return keyed.map(({ row }) => row);
}
