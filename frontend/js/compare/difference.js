/**
 * How two placements of one graph differ, and what their steps spend their times on. `before` is the placement that is
 * compared with, `after` the shown one. Pure functions.
 */

import { SPLIT } from "../graph/colouring.js";
import { devicePartsOf } from "../step/device-parts.js";
import { CAUSES } from "../step/step-words.js";
import { counted, formatGap, formatTime, formatTimeChange } from "../ui/format.js";

/** @typedef {import("../step/step.js").Step} Step */

/**
 * @typedef {object} Move
 * @property {number} group
 * @property {number} from device, or `SPLIT` of `graph/colouring.js`
 * @property {number} to device, or `SPLIT`
 *
 * @typedef {object} Part of a time, in both steps
 * @property {string} name
 * @property {number} beforeUs
 * @property {number} afterUs
 * @property {number} us the difference
 */

/**
 * @param {ArrayLike<number>} before [groups]
 * @param {ArrayLike<number>} after [groups]
 * @returns {Move[]} by group
 */
export function movesBetween(before, after) {
  const moves = [];
  for (let group = 0; group < after.length; group += 1) {
    if (before[group] !== after[group]) {
      moves.push({ group, from: before[group], to: after[group] });
    }
  }
  return moves;
}

/**
 * Whether groups may have moved that `movesBetween` does not know: some are on several devices in both placements.
 *
 * @param {ArrayLike<number>} before [groups]
 * @param {ArrayLike<number>} after [groups]
 */
export function mayMoveInside(before, after) {
  return Array.from(after).some((device, group) => device === SPLIT && before[group] === SPLIT);
}

/**
 * The groups that are on several devices in both placements, but not all their ops on the same ones.
 *
 * @param {{ before: ArrayLike<number>, after: ArrayLike<number> }} placements [groups]
 * @param {{ before: ArrayLike<number>, after: ArrayLike<number> }} deviceOfOp [ops]
 * @param {(op: number) => number} groupOf
 * @returns {Move[]} by group
 */
export function movesInside(placements, deviceOfOp, groupOf) {
  /** @type {Set<number>} */
  const groups = new Set();
  for (let op = 0; op < deviceOfOp.after.length; op += 1) {
    const group = groupOf(op);
    if (placements.before[group] === SPLIT && placements.after[group] === SPLIT && deviceOfOp.before[op] !== deviceOfOp.after[op]) {
      groups.add(group);
    }
  }
  return [...groups].sort((one, other) => one - other).map((group) => ({ group, from: SPLIT, to: SPLIT }));
}

/**
 * @param {readonly Move[]} moves
 * @returns {{ from: number, to: number, count: number }[]} the most frequent pair of devices first
 */
export function pairsOf(moves) {
  /** @type {Map<string, { from: number, to: number, count: number }>} */
  const pairs = new Map();
  for (const { from, to } of moves) {
    const pair = pairs.get(`${from} ${to}`) ?? { from, to, count: 0 };
    pair.count += 1;
    pairs.set(`${from} ${to}`, pair);
  }
  return [...pairs.values()].sort((one, other) => other.count - one.count || one.from - other.from || one.to - other.to);
}

/**
 * The critical chain by cause. The differences add up to that of the step times.
 *
 * @param {Step} before
 * @param {Step} after
 * @returns {Part[]}
 */
export function causeParts(before, after) {
  return after.texts.causes.map((name, index) => partOf(name, before.texts.cause_us[index], after.texts.cause_us[index]));
}

/**
 * What each device does during the step. The differences of one device add up to that of the step times.
 *
 * @param {Step} before
 * @param {Step} after
 * @returns {Part[][]} [devices]
 */
export function deviceParts(before, after) {
  const earlier = devicePartsOf(before);
  return devicePartsOf(after).map((parts, device) => parts.map(({ name, us }, index) => partOf(name, earlier[device][index].us, us)));
}

/**
 * `37 groups moved: 735 ms → 616 ms (−16.2 %). On the critical chain: transfer −14 ms, compute +6 ms.`
 *
 * @param {readonly Move[]} moves
 * @param {Step} before
 * @param {Step} after
 * @returns {string}
 */
export function differenceSentence(moves, before, after) {
  const [beforeUs, afterUs] = [before.stepTimeUs, after.stepTimeUs];
  const change = beforeUs > 0 ? ` (${formatGap(afterUs / beforeUs - 1)})` : "";
  const head = `${counted(moves.length, "group")} moved: ${formatTime(beforeUs, 4)} → ${formatTime(afterUs, 4)}${change}, simulated.`;
  const parts = causeParts(before, after)
    .filter(({ us }) => Math.abs(us) >= 0.0005 * Math.max(beforeUs, afterUs))
    .sort((one, other) => Math.abs(other.us) - Math.abs(one.us))
    .map(({ name, us }) => `${CAUSES[/** @type {keyof typeof CAUSES} */ (name)].label.toLowerCase()} ${formatTimeChange(us)}`);
  return parts.length === 0 ? head : `${head} On the critical chain: ${parts.join(", ")}.`;
}

/**
 * @param {string} name
 * @param {number} beforeUs
 * @param {number} afterUs
 * @returns {Part}
 */
function partOf(name, beforeUs, afterUs) {
  return { name, beforeUs, afterUs, us: afterUs - beforeUs };
}
