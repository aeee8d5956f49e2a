/** What stands where the facts of the chosen would be while nothing is chosen: the move to make first, and what to do. */

import { element } from "../ui/dom.js";
import { cutName } from "../ui/format.js";
import { shownName } from "../ui/names.js";
import { SettledTimer } from "../ui/settled-timer.js";
import { bestMoveWords, gainRows, helps } from "./gain-rows.js";
import { largestMoves } from "./gains.js";

/** @typedef {import("./gains-map.js").ShownForGains} ShownForGains */

/** The moves are asked for once a placement has been looked at for so long. */
const SETTLED_MILLISECONDS = 600;

const WAYS = Object.freeze([
  "Select a bar, a block, a node or a row to see what it is, why it is where it is, and what every other device would cost.",
  "Double-click a block or node to open it, Escape closes it; drag it onto a device, or press the device’s number, to move it there.",
  "Among groups a larger node runs longer; red edges cross devices; in the timeline a line below a bar marks the critical chain. Drag to pan, Ctrl + wheel to zoom.",
]);

export class FirstLook {
  #part;
  #groups;
  #looks;
  #acts;
  #timer = new SettledTimer();
  /** @type {ShownForGains | null} */
  #shown = null;

  /**
   * @param {HTMLElement} part
   * @param {readonly import("../ui/contracts.js").Group[]} groups
   * @param {readonly import("../graph/devices.js").DeviceLook[]} looks
   * @param {{ canTry: boolean, onChoose: (group: number) => void, onMove: (group: number, device: number) => void }} acts
   */
  constructor(part, groups, looks, acts) {
    this.#part = part;
    this.#groups = groups;
    this.#looks = looks;
    this.#acts = acts;
    this.#draw([]);
  }

  /**
   * @param {ShownForGains | null} shown null: something is chosen, or the shown placement is not known to stay
   */
  show(shown) {
    if (shown === this.#shown) {
      return;
    }
    this.#shown = shown;
    this.#draw([]);
    if (shown && this.#acts.canTry) {
      this.#timer.start(SETTLED_MILLISECONDS, () => this.#ask(shown));
    } else {
      this.#timer.stop();
    }
  }

  /** @param {ShownForGains} shown */
  async #ask(shown) {
    const answer = await largestMoves(shown.fields).catch(() => null); // the tab of gains says why
    if (answer && shown === this.#shown) {
      this.#draw(this.#best(gainRows(answer, shown.placement, shown.stepTimeUs)[0], shown.stepTimeUs));
    }
  }

  /**
   * @param {import("./gain-rows.js").GainRow | undefined} row with the best move
   * @param {number} stepTimeUs
   * @returns {Node[]}
   */
  #best(row, stepTimeUs) {
    const [name, label] = row && row.best >= 0 ? [cutName(shownName(this.#groups[row.group]), 60), this.#looks[row.best].label] : ["", ""];
    const words = element("p", { class: "name", "data-first": "best" }, bestMoveWords(row, stepTimeUs, name, label));
    if (!row || !helps(row)) {
      return [words];
    }
    const look = element("button", { type: "button", class: "button" }, "Look at it");
    look.addEventListener("click", () => this.#acts.onChoose(row.group));
    const move = element("button", { type: "button", class: "button", "data-first": "move" }, "Make this move");
    move.addEventListener("click", () => this.#acts.onMove(row.group, row.best));
    return [words, element("div", { class: "actions" }, look, move)];
  }

  /** @param {readonly Node[]} best */
  #draw(best) {
    const ways = this.#acts.canTry ? WAYS : WAYS.filter((_, index) => index !== 1);
    this.#part.replaceChildren(...best, ...ways.map((text) => element("p", { class: "hint" }, text)));
  }
}
