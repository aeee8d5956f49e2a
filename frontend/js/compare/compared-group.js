/** Where one group is in both placements of a comparison. */

import { SPLIT } from "../graph/colouring.js";
import { splitFacts, splitLine, splitPlaces } from "../graph/split-places.js";
import { boundaryWords } from "../step/boundary.js";
import { nodeFacts } from "../step/node-facts.js";
import { element } from "../ui/dom.js";
import { cutName } from "../ui/format.js";
import { LONGEST_TITLE, shownName } from "../ui/names.js";

/** @typedef {import("../graph/devices.js").DeviceLook} DeviceLook */

/**
 * @typedef {object} ChosenSide
 * @property {string} words of the placement
 * @property {import("../step/step.js").Step["cuts"] | null} cuts null: not known yet
 *
 * @typedef {import("../graph/move-picture.js").Placed & ChosenSide} Side one placement of a comparison
 * @typedef {{ before: Side, after: Side }} Sides
 */

/**
 * @param {{ words: string, placement: ArrayLike<number> }} placed
 * @param {import("../step/step.js").Step | null} step of it; null: not known yet
 * @param {ArrayLike<number>} groupOfOp
 * @returns {Side}
 */
export function sideOf({ words, placement }, step, groupOfOp) {
  const isSplit = Array.from(placement).includes(SPLIT);
  const facts = step && isSplit ? nodeFacts(step, groupOfOp, placement.length) : null;
  return { words, placement, step: facts, cuts: step && isSplit ? step.cuts : null };
}

/**
 * @param {import("../ui/contracts.js").Group} group
 * @param {Sides} sides
 * @param {readonly DeviceLook[]} looks
 * @param {import("./compared-steps.js").Ops} ops
 * @returns {Node[]}
 */
export function comparedGroup(group, { before, after }, looks, ops) {
  const { id } = group;
  const part = (/** @type {string} */ title, /** @type {Side} */ side) => {
    const named = { groupOf: (/** @type {number} */ op) => ops.groupOf(op), opName: (/** @type {number} */ op) => ops.opName(op) };
    const boundary = side.cuts ? boundaryWords(side.cuts, id, named) : "";
    const isSplit = side.placement[id] === SPLIT;
    const place = isSplit ? splitFacts(splitPlaces(partsOf(side, id), looks, boundary)) : placeLine(side, id, looks);
    return element("div", {}, element("h4", { class: "name" }, `${title}: ${side.words}`), place);
  };
  const parts = [part("Compared", before), part("Shown", after)];
  return [element("h3", { class: "name", title: cutName(group.name, LONGEST_TITLE) }, cutName(shownName(group), 80)), element("div", { class: "compared-sides" }, ...parts)];
}

/**
 * The devices of a group, on one line.
 *
 * @param {Side} side
 * @param {number} group
 * @param {readonly DeviceLook[]} looks
 */
export function placeLine(side, group, looks) {
  const device = side.placement[group];
  const devices = device === SPLIT ? partsOf(side, group)?.map((part) => part.device) : [device];
  return devices ? splitLine(devices.map((each) => looks[each])) : element("span", {}, "several devices");
}

/**
 * @param {Side} side
 * @param {number} group
 */
export function partsOf(side, group) {
  return side.step?.parts.get(group) ?? null;
}
