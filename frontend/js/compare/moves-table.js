/** The table of moved groups: where each was, where it is, and the step if that one group alone went back. */

import { SPLIT } from "../graph/colouring.js";
import { deviceMark } from "../graph/device-legend.js";
import { element } from "../ui/dom.js";
import { splitCell } from "../graph/split-places.js";
import { counted, cutName, formatGap, formatTime, formatTimeChange } from "../ui/format.js";
import { cutNames, LONGEST_TITLE, shownName } from "../ui/names.js";
import { SortedTable } from "../ui/sorted-table.js";
import { partsOf } from "./compared-group.js";

/** @typedef {import("./difference.js").Move} Move */
/** @typedef {import("../graph/devices.js").DeviceLook} DeviceLook */

/**
 * @typedef {object} Back the step if one group alone went back
 * @property {number | null} stepTimeUs null: the group may not go there
 * @property {number} missingBytes that a device then lacks
 */

const LONGEST_NAME = 32;

export class MovesTable {
  #table;
  #groups;
  #looks;
  /** Group → its name as the table shows it. @type {ReadonlyMap<number, string>} */
  #words = new Map();
  /** @type {ReadonlyMap<number, Back>} */
  #backs = new Map();
  #stepTimeUs = NaN;
  /** @type {import("./compared-group.js").Sides | null} */
  #sides = null;

  /**
   * @param {HTMLElement} host
   * @param {readonly import("../ui/contracts.js").Group[]} groups
   * @param {readonly DeviceLook[]} looks
   * @param {(group: number) => void} onChoose
   * @param {boolean} hasBacks whether the page can ask for the steps if groups went back
   */
  constructor(host, groups, looks, onChoose, hasBacks) {
    this.#groups = groups;
    this.#looks = looks;
    const back = {
      key: "back",
      label: "Step if it alone went back",
      numeric: true,
      valueOf: (/** @type {Move} */ move) => this.#change(move),
      cells: (/** @type {Move} */ move) => this.#back(move),
    };
    this.#table = /** @type {SortedTable<Move>} */ (
      new SortedTable(host, {
        caption: hasBacks ? "Moved groups, and the step time if one of them alone went back" : "Moved groups",
        look: "moves-table",
        keyOf: ({ group }) => group,
        onChoose: ({ group }) => onChoose(group),
        order: hasBacks ? { key: "back", descending: true } : { key: "group", descending: false },
        columns: [
          {
            key: "group",
            label: "Group",
            valueOf: ({ group }) => shownName(groups[group]),
            cells: ({ group }) => [element("span", { title: cutName(groups[group].name, LONGEST_TITLE) }, this.#words.get(group) ?? "")],
          },
          { key: "from", label: "From", valueOf: ({ from }) => from, cells: ({ group, from }) => this.#device(from, group, "before") },
          { key: "to", label: "To", valueOf: ({ to }) => to, cells: ({ group, to }) => this.#device(to, group, "after") },
          ...(hasBacks ? [back] : []),
        ],
      })
    );
  }

  /**
   * @param {readonly Move[]} moves
   * @param {import("./compared-group.js").Sides} sides
   */
  show(moves, sides) {
    this.#sides = sides;
    this.#backs = new Map();
    this.#stepTimeUs = NaN;
    const words = cutNames(moves.map(({ group }) => shownName(this.#groups[group])), LONGEST_NAME);
    this.#words = new Map(moves.map(({ group }, index) => [group, words[index]]));
    this.#table.show(moves);
  }

  /**
   * @param {ReadonlyMap<number, Back>} backs by group
   * @param {number} stepTimeUs of the shown placement
   */
  showBacks(backs, stepTimeUs) {
    this.#backs = backs;
    this.#stepTimeUs = stepTimeUs;
    this.#table.refresh();
  }

  /** @param {number} group -1 for none */
  choose(group) {
    this.#table.choose(group < 0 ? null : group);
  }

  /** @param {Move} move */
  #change({ group }) {
    const after = this.#backs.get(group)?.stepTimeUs;
    return after === null || after === undefined ? null : after - this.#stepTimeUs;
  }

  /** @param {Move} move */
  #back(move) {
    const back = this.#backs.get(move.group);
    const change = this.#change(move);
    if (move.from === SPLIT) {
      return ["was on several devices"];
    }
    if (!back || change === null) {
      return [back ? "not allowed there" : "…"];
    }
    const gap = this.#stepTimeUs > 0 ? `, ${formatGap(change / this.#stepTimeUs)}` : "";
    const fits = back.missingBytes > 0 ? ", does not fit" : "";
    return [element("span", { "data-us": change, title: formatTime(back.stepTimeUs, 4) }, `${formatTimeChange(change)}${gap}${fits}`)];
  }

  /**
   * @param {number} device
   * @param {number} group
   * @param {"before" | "after"} name of the side
   */
  #device(device, group, name) {
    const look = this.#looks[device];
    return look ? [deviceMark(look), ` ${look.label}`] : splitCell(this.#sides && partsOf(this.#sides[name], group), this.#looks);
  }
}

/**
 * @param {{ from: number, to: number, count: number }} pair
 * @param {readonly DeviceLook[]} looks
 * @returns {HTMLElement}
 */
export function movePair({ from, to, count }, looks) {
  const words = (/** @type {number} */ device) => {
    const look = looks[device];
    return look ? [deviceMark(look), ` ${look.label}`] : ["several devices"];
  };
  return element("li", { "data-from": from, "data-to": to }, ...words(from), " → ", ...words(to), `: ${counted(count, "group")}`);
}
