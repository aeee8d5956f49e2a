/** The few steps of a quantity that a legend names. Pure. */

import { formatBytes, formatShare, formatTime } from "../ui/format.js";

/** @typedef {"us" | "bytes" | "share"} Unit */

/** Steps of a quantity that is not zero. */
export const STEPS = 5;
const KIBI = 1024;

/**
 * The lower bounds of all steps but the first, in rising order: three or ten times as much from step to step, bytes four
 * times, up to the largest that `most` reaches.
 *
 * @param {number} most
 * @param {Unit} unit
 * @returns {number[]} [STEPS − 1]
 */
export function bounds(most, unit) {
  const ladder = unit === "bytes" ? (/** @type {number} */ rung) => KIBI * 4 ** rung : (/** @type {number} */ rung) =>
    (rung % 2 === 0 ? 1 : 3) * 10 ** Math.floor(rung / 2);
  let top = unit === "bytes" ? Math.ceil(Math.log(Math.max(most, 1) / KIBI) / Math.log(4)) : 2 * Math.ceil(Math.log10(Math.max(most, 1e-9))) + 1;
  while (ladder(top) >= most && top > -40) {
    top -= 1;
  }
  return Array.from({ length: STEPS - 1 }, (_, index) => ladder(top - (STEPS - 2) + index));
}

/**
 * @param {number} value
 * @param {readonly number[]} edges from `bounds`
 * @returns {number} its step, 0 for the least
 */
export function stepOf(value, edges) {
  let step = 0;
  while (step < edges.length && value >= edges[step]) {
    step += 1;
  }
  return step;
}

/**
 * @param {number} us a bound
 * @returns {string} `0.3 µs`, which has a decimal, `300 µs`
 */
function boundOfTime(us) {
  return us < 1 ? `${Number(us.toPrecision(1))} µs` : formatTime(us, 1);
}

/**
 * @param {number} step
 * @param {readonly number[]} edges
 * @param {Unit} unit
 * @returns {string} such as `< 10 µs`, `10 µs to 30 µs`, `≥ 3 ms`
 */
export function stepWords(step, edges, unit) {
  const words = { us: boundOfTime, bytes: formatBytes, share: formatShare }[unit];
  if (step === 0) {
    return `< ${words(edges[0])}`;
  }
  if (step === edges.length) {
    return `≥ ${words(edges[step - 1])}`;
  }
  return `${words(edges[step - 1])} to ${words(edges[step])}`;
}
