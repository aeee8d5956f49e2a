/** The field that finds a layer, a group or an op by its name, and chooses it. */

import { element } from "../ui/dom.js";
import { counted, cutName, formatCount } from "../ui/format.js";
import { cutNames, LONGEST_TITLE, shownName } from "../ui/names.js";

const MOST_LISTED = 6;
const LONGEST_NAME = 70;

/**
 * @typedef {object} Found
 * @property {"layer" | "group" | "op"} kind
 * @property {number} index of a group or an op; −1 for a layer, which its name tells
 * @property {string} name as people are shown it
 * @property {string} whole as in the file
 *
 * @typedef {object} Known what can be found
 * @property {readonly import("../ui/contracts.js").Group[]} groups
 * @property {() => Promise<OpNamesAndGroups>} opNames
 *
 * @typedef {object} OpNamesAndGroups
 * @property {readonly string[]} names [ops] as people are shown them
 * @property {readonly string[]} whole [ops] as in the file
 * @property {ArrayLike<number>} groups [ops]
 */

export class Finder {
  #input;
  #list;
  #known;
  #onChoose;
  /** @type {readonly Found[]} */
  #all = [];

  /**
   * @param {HTMLInputElement} input
   * @param {HTMLElement} list of what is found
   * @param {Known} known
   * @param {(found: Found) => void} onChoose
   */
  constructor(input, list, known, onChoose) {
    this.#input = input;
    this.#list = list;
    this.#known = known;
    this.#onChoose = onChoose;
    this.#all = known.groups.map((group, index) => ({ kind: "group", index, name: shownName(group), whole: group.name }));
    input.addEventListener("focus", () => this.#learnOps(), { once: true });
    input.addEventListener("input", () => this.#draw());
    input.addEventListener("keydown", (event) => this.#onKey(event));
    list.addEventListener("keydown", (event) => this.#onListKey(event));
  }

  async #learnOps() {
    const { names, whole } = await this.#known.opNames();
    const layers = layersOf(names).map((name) => ({ kind: /** @type {const} */ ("layer"), index: -1, name, whole: name }));
    this.#all = [...layers, ...this.#all, ...names.map((name, index) => ({ kind: /** @type {const} */ ("op"), index, name, whole: whole[index] }))];
    this.#draw();
  }

  #draw() {
    const { first, count } = findNames(this.#all, this.#input.value, MOST_LISTED);
    const words = cutNames(first.map(({ name }) => name), LONGEST_NAME);
    const items = first.map((found, index) => {
      const kind = element("span", { class: "hint" }, found.kind);
      const button = element("button", { type: "button", class: "link-button name", title: cutName(found.whole, LONGEST_TITLE) }, words[index]);
      button.addEventListener("click", () => this.#choose(found));
      return element("li", {}, button, " ", kind);
    });
    const left = count - first.length;
    const none = this.#input.value.trim() && count === 0 ? [element("li", { class: "hint" }, "No layer, group or op has this in its name.")] : [];
    const more = left > 0 ? [element("li", { class: "hint" }, `and ${formatCount(left)} more: type more of the name`)] : [];
    this.#list.replaceChildren(...items, ...more, ...none);
    this.#list.hidden = this.#list.childElementCount === 0;
    this.#list.setAttribute("aria-label", counted(count, "name"));
  }

  /** @param {Found} found */
  #choose(found) {
    this.#input.value = "";
    this.#draw();
    this.#onChoose(found);
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const { first } = findNames(this.#all, this.#input.value, 1);
    if (event.key === "Enter" && first.length > 0) {
      this.#choose(first[0]);
    } else if (event.key === "ArrowDown") {
      event.preventDefault();
      this.#list.querySelector("button")?.focus();
    } else if (event.key === "Escape" && this.#input.value) {
      event.stopPropagation();
      this.#input.value = "";
      this.#draw();
    }
  }

  /** @param {KeyboardEvent} event */
  #onListKey(event) {
    const buttons = [...this.#list.querySelectorAll("button")];
    const at = buttons.findIndex((button) => button === document.activeElement);
    const next = { ArrowDown: buttons[at + 1], ArrowUp: buttons[at - 1] ?? this.#input, Escape: this.#input }[event.key];
    if (next) {
      event.preventDefault();
      event.stopPropagation();
      next.focus();
    }
  }
}

/**
 * Those with the text in their name or whole name, whatever the case: equal names first, then those of which a part
 * between slashes begins with it; the shorter ones first.
 *
 * @param {readonly Found[]} all
 * @param {string} text
 * @param {number} most
 * @returns {{ first: Found[], count: number }} the first ones, and how many there are
 */
export function findNames(all, text, most) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) {
    return { first: [], count: 0 };
  }
  const ranked = [];
  for (const found of all) {
    const [name, whole] = [found.name.toLowerCase(), found.whole.toLowerCase()];
    if (name.includes(wanted) || whole.includes(wanted)) {
      const rank = name === wanted || whole === wanted ? 0 : `/${name}`.includes(`/${wanted}`) ? 1 : 2;
      ranked.push({ found, rank, length: name.length });
    }
  }
  ranked.sort((one, other) => one.rank - other.rank || one.length - other.length);
  return { first: ranked.slice(0, most).map(({ found }) => found), count: ranked.length };
}

/**
 * The layers and modules that names speak of: their parts before a slash.
 *
 * @param {readonly string[]} names [ops]
 * @returns {string[]} each once
 */
export function layersOf(names) {
  const layers = new Set();
  for (const name of names) {
    for (let end = name.lastIndexOf("/"); end > 0; end = name.lastIndexOf("/", end - 1)) {
      const layer = name.slice(0, end);
      if (layers.has(layer)) {
        break; // and so are those around it
      }
      layers.add(layer);
    }
  }
  return [...layers];
}

/**
 * The groups of a layer: those with more than half of their ops in it; else all that have one.
 *
 * @param {string} layer
 * @param {OpNamesAndGroups} ops
 * @returns {number[]} in ascending order
 */
export function groupsOfLayer(layer, { names, groups }) {
  /** @type {Map<number, [number, number]>} ops in the layer, and all */
  const counts = new Map();
  names.forEach((name, op) => {
    const count = counts.get(groups[op]) ?? [0, 0];
    counts.set(groups[op], count);
    count[0] += name === layer || name.startsWith(`${layer}/`) ? 1 : 0;
    count[1] += 1;
  });
  const inside = [...counts].filter(([, [within]]) => within > 0);
  const mostly = inside.filter(([, [within, all]]) => 2 * within > all);
  return (mostly.length > 0 ? mostly : inside).map(([group]) => group).sort((one, other) => one - other);
}
