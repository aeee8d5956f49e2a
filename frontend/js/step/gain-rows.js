/** What every single move would change, as rows of a table: pure. */

import { LEAST_GAIN } from "../graph/colouring.js";
import { formatStepChange } from "../ui/format.js";

/**
 * @typedef {object} Cell of a group on a device
 * @property {"here" | "forbidden" | "full" | "move"} kind full: it would not fit in memory
 * @property {number} change share of the step time, negative is faster; 0 where there is no move
 *
 * @typedef {object} GainRow
 * @property {number} group
 * @property {Cell[]} cells [devices]
 * @property {number} best device of its best move, -1 without one
 * @property {number} change of its best move; Infinity without one
 *
 * @typedef {object} AnswerOfGains as `gains.json` has it
 * @property {number[]} groups
 * @property {(number | null)[][]} step_time_us [groups][devices]
 * @property {number[][]} missing_bytes [groups][devices]
 */

/** Changes of the step time from which a colour is one step stronger. */
const LEVELS = [LEAST_GAIN, 0.005, 0.03];

/**
 * @param {AnswerOfGains} answer
 * @param {ArrayLike<number>} placement [groups]
 * @param {number} stepTimeUs of the placement
 * @returns {GainRow[]} the best move first
 */
export function gainRows({ groups, step_time_us: times, missing_bytes: missing }, placement, stepTimeUs) {
  const rows = groups.map((group, index) => {
    const cells = times[index].map((timeUs, device) => cellOf(timeUs, missing[index][device], device === placement[group], stepTimeUs));
    let best = -1;
    cells.forEach((cell, device) => {
      if (cell.kind === "move" && (best < 0 || cell.change < cells[best].change)) {
        best = device;
      }
    });
    return { group, cells, best, change: best < 0 ? Infinity : cells[best].change };
  });
  return rows.sort((one, other) => (one.change === other.change ? one.group - other.group : one.change - other.change));
}

/**
 * @param {number | null} timeUs
 * @param {number} missingBytes
 * @param {boolean} isHere
 * @param {number} stepTimeUs
 * @returns {Cell}
 */
function cellOf(timeUs, missingBytes, isHere, stepTimeUs) {
  if (isHere) {
    return { kind: "here", change: 0 };
  }
  if (timeUs === null) {
    return { kind: "forbidden", change: 0 };
  }
  return { kind: missingBytes > 0 ? "full" : "move", change: timeUs / stepTimeUs - 1 };
}

/**
 * @param {Cell} cell
 * @returns {number} -3, much faster, to 3, much slower
 */
export function levelOf({ kind, change }) {
  const level = LEVELS.filter((least) => Math.abs(change) >= least).length;
  return kind === "move" ? Math.sign(change) * level : 0;
}

/**
 * @param {readonly GainRow[]} rows
 * @param {number} device -1: by the best move
 * @returns {GainRow[]} the best move to the device first
 */
export function orderedBy(rows, device) {
  const changeOf = (/** @type {GainRow} */ row) => {
    const cell = device < 0 ? null : row.cells[device];
    return cell ? (cell.kind === "move" ? cell.change : Infinity) : row.change;
  };
  return [...rows].sort((one, other) => (changeOf(one) === changeOf(other) ? one.group - other.group : changeOf(one) - changeOf(other)));
}

/**
 * @param {GainRow} row
 * @returns {boolean} whether a move of the group changes the step by more than next to nothing
 */
export function hasEffect({ cells }) {
  return cells.some(({ kind, change }) => kind === "move" && Math.abs(change) >= LEAST_GAIN);
}

/**
 * @param {GainRow | undefined} row
 * @returns {boolean} whether its best move is worth making
 */
export function helps(row) {
  return row !== undefined && row.change <= -LEAST_GAIN;
}

/**
 * @param {GainRow | undefined} best the row with the best move
 * @param {number} stepTimeUs of the placement
 * @param {string} name of its group
 * @param {string} label of the device
 * @returns {string}
 */
export function bestMoveWords(best, stepTimeUs, name, label) {
  if (!best || best.change >= 0) {
    return "No single move makes the step faster.";
  }
  if (!helps(best)) {
    return "No single move helps by more than 0.1 %.";
  }
  return `Best single move: ${name} to ${label}, ${formatStepChange(stepTimeUs, stepTimeUs * (1 + best.change))}.`;
}
