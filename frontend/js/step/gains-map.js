/** The map of what every single move would gain: groups × devices, the best move first. */

import { deviceMark } from "../graph/device-legend.js";
import { element, find, setText } from "../ui/dom.js";
import { counted, cutName, formatTimeChange } from "../ui/format.js";
import { cutNames, LONGEST_TITLE, shownName } from "../ui/names.js";
import { showFailure } from "../ui/server.js";
import { bestMoveWords, gainRows, hasEffect, helps, levelOf, orderedBy } from "./gain-rows.js";
import { largestMoves } from "./gains.js";

/** @typedef {import("./gain-rows.js").GainRow} GainRow */
/** @typedef {import("./gain-rows.js").Cell} Cell */

/**
 * @typedef {object} ShownForGains a placement whose step is known
 * @property {import("./gains.js").Fields} fields
 * @property {ArrayLike<number>} placement [groups]
 * @property {number} stepTimeUs
 */

const ROWS_SHOWN = 100;
/** Long enough to tell the variables of a model apart. */
const LONGEST_NAME = 90;

export class GainsMap {
  #root;
  #groups;
  #looks;
  #acts;
  #body = element("tbody");
  /** @type {readonly GainRow[]} */
  #rows = [];
  #sortedBy = -1;
  #showsAll = false;
  #rest = element("button", { type: "button", class: "button", hidden: "" });
  #chosen = -1;
  /** @type {ShownForGains | null} */
  #shown = null;
  #isKnown = false;

  /**
   * @param {HTMLElement} root with `[data-gains=…]`; the gains are asked for while its tab is shown
   * @param {readonly import("../ui/contracts.js").Group[]} groups
   * @param {readonly import("../graph/devices.js").DeviceLook[]} looks
   * @param {{ onChoose: (group: number) => void, onMove: (group: number, device: number) => void }} acts
   */
  constructor(root, groups, looks, acts) {
    this.#root = root;
    this.#groups = groups;
    this.#looks = looks;
    this.#acts = acts;
    const heads = looks.map((look) => this.#head(look.index, deviceMark(look), ` ${look.label}`));
    const head = element("tr", {}, this.#head(-1, "Group, best move first"), ...heads);
    const caption = element("caption", { class: "visually-hidden" }, "Change of the step time by each single move");
    find(root, "[data-gains=table]", HTMLElement).append(element("table", { class: "gains" }, caption, element("thead", {}, head), this.#body));
    find(root, "[data-gains=table]", HTMLElement).after(this.#rest);
    this.#rest.addEventListener("click", () => {
      this.#showsAll = true;
      this.#draw();
      this.#body.rows[0]?.focus();
    });
    find(root, "[data-gains=apply]", HTMLButtonElement).addEventListener("click", () => this.#applyBest());
    this.#body.addEventListener("keydown", (event) => this.#onKey(event));
  }

  /** @param {ShownForGains | null} shown null: its step is not known yet */
  show(shown) {
    this.#shown = shown;
    this.#isKnown = false;
    find(this.#root, "[data-gains=apply]", HTMLButtonElement).disabled = true;
    this.ask();
  }

  /** @param {number} group -1 for none */
  choose(group) {
    this.#chosen = group;
    for (const row of this.#body.rows) {
      row.classList.toggle("is-chosen", Number(row.dataset.group) === group);
    }
  }

  /** Find the gains of the shown placement, where a person sees them. */
  async ask() {
    const shown = this.#shown;
    if (!shown || this.#isKnown || this.#root.closest("[hidden]")) {
      return;
    }
    this.#isKnown = true;
    this.#say("Simulating every move…");
    try {
      const answer = await largestMoves(shown.fields);
      if (shown === this.#shown) {
        this.#rows = gainRows(answer, shown.placement, shown.stepTimeUs);
        this.#draw();
      }
    } catch (error) {
      if (shown === this.#shown) {
        showFailure(find(this.#root, "[data-gains=words]", HTMLElement), "The gains cannot be shown.", error, () => this.#askAgain());
      }
    }
  }

  #askAgain() {
    this.#isKnown = false;
    this.ask();
  }

  #draw() {
    const ordered = orderedBy(this.#rows, this.#sortedBy);
    const wanted = this.#showsAll ? ordered : ordered.filter(hasEffect);
    const rows = wanted.slice(0, ROWS_SHOWN);
    const words = cutNames(rows.map(({ group }) => shownName(this.#groups[group])), LONGEST_NAME);
    this.#body.replaceChildren(...rows.map((row, index) => this.#row(row, words[index])));
    this.#body.rows[0]?.setAttribute("tabindex", "0");
    const folded = ordered.length - wanted.length;
    this.#rest.hidden = folded === 0;
    setText(this.#rest, `Show ${counted(folded, "more group")}: no move of them changes the step by 0.1 %`);
    const [best] = this.#rows;
    const left = this.#groups.length - this.#rows.length;
    const some = left > 0 ? ` The largest ${counted(this.#rows.length, "group")} only: all would take too long.` : "";
    const more = wanted.length > rows.length ? ` The first ${rows.length} rows are shown.` : "";
    find(this.#root, "[data-gains=apply]", HTMLButtonElement).disabled = !helps(best);
    const [name, label] = best && best.best >= 0 ? [cutName(shownName(this.#groups[best.group]), 60), this.#looks[best.best].label] : ["", ""];
    this.#say(bestMoveWords(best, this.#shown?.stepTimeUs ?? 0, name, label) + some + more);
  }

  /**
   * @param {GainRow} row
   * @param {string} words the name of its group as this table shows it
   */
  #row(row, words) {
    const { group, cells, best } = row;
    const name = element("th", { scope: "row", title: cutName(this.#groups[group].name, LONGEST_TITLE) }, words);
    const made = element("tr", { "data-group": group, tabindex: -1, class: group === this.#chosen ? "is-chosen" : "" }, name);
    cells.forEach((cell, device) => {
      const text = changeOf(cell);
      const us = element("span", { class: "muted" }, ` ${formatTimeChange(cell.change * (this.#shown?.stepTimeUs ?? 0))}`);
      const button = element("button", { type: "button", class: "gain", tabindex: -1, title: `Move to ${this.#looks[device].label}` }, text, us);
      button.addEventListener("click", () => this.#acts.onMove(group, device));
      const content = cell.kind === "move" ? button : text;
      made.append(element("td", { "data-level": levelOf(cell), class: device === best && helps(row) ? "is-best" : "" }, content));
    });
    name.addEventListener("click", () => this.#acts.onChoose(group));
    return made;
  }

  /**
   * @param {number} device -1: the column of the groups
   * @param {...(Node | string)} content
   */
  #head(device, ...content) {
    const button = element("button", { type: "button", class: "sort" }, ...content);
    button.addEventListener("click", () => {
      this.#sortedBy = device;
      this.#draw();
    });
    return element("th", { scope: "col" }, button);
  }

  #applyBest() {
    const [best] = this.#rows;
    if (helps(best)) {
      this.#acts.onMove(best.group, best.best);
    }
  }

  /** @param {KeyboardEvent} event arrows go from row to row, Enter chooses the group; digits then move it */
  #onKey(event) {
    const row = event.target instanceof HTMLTableRowElement ? event.target : null;
    const next = row && { ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling }[event.key];
    if (next instanceof HTMLTableRowElement) {
      event.preventDefault();
      row?.setAttribute("tabindex", "-1");
      next.setAttribute("tabindex", "0");
      next.focus();
    } else if (row && event.key === "Enter") {
      this.#acts.onChoose(Number(row.dataset.group));
    }
  }

  /** @param {string} words */
  #say(words) {
    setText(find(this.#root, "[data-gains=words]", HTMLElement), words);
  }
}

/**
 * @param {Cell} cell
 * @returns {string}
 */
function changeOf({ kind, change }) {
  switch (kind) {
    case "here":
      return "here";
    case "forbidden":
      return "not allowed";
    case "full":
      return "no room";
    default:
      return `${change > 0 ? "+" : change < 0 ? "−" : "±"}${(100 * Math.abs(change)).toLocaleString("en", { maximumSignificantDigits: 2 })} %`;
  }
}
