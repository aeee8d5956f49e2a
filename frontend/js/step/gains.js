/** What every single move of a group would change, asked for once for a placement. */

import { post } from "../ui/server.js";

/**
 * @typedef {object} AllGains
 * @property {(number | null)[][]} stepTimesUs [groups][devices] null: the group may not go there
 * @property {number[][]} missingBytes [groups][devices]
 */

/** Several views ask for the gains of the placement that is shown. */
const MOST_KEPT = 4;

/** @type {Map<string, Promise<AllGains>>} */
const kept = new Map();

/**
 * @param {{ placement: number[], base?: string }} fields the placement as requests have it
 * @returns {Promise<AllGains>} throws ServerError with the server's sentence
 */
export function gainsOfAll(fields) {
  const key = JSON.stringify(fields);
  let gains = kept.get(key);
  if (!gains) {
    gains = ask(fields);
    gains.catch(() => kept.delete(key));
    kept.set(key, gains);
    if (kept.size > MOST_KEPT) {
      kept.delete(/** @type {string} */ (kept.keys().next().value));
    }
  }
  return gains;
}

/**
 * @param {{ placement: number[], base?: string }} fields
 * @returns {Promise<AllGains>}
 */
async function ask(fields) {
  const answer = await post("gains.json", { ...fields, groups: [...fields.placement.keys()] }, "application/json");
  const { step_time_us: stepTimesUs, missing_bytes: missingBytes } = await answer.json();
  return { stepTimesUs, missingBytes };
}

/**
 * How much shorter the step gets by the best move of each group to another device where it fits.
 *
 * @param {AllGains} gains
 * @param {ArrayLike<number>} placement [groups]
 * @param {number} stepTimeUs of the placement
 * @returns {(number | null)[]} [groups] not positive where no move helps; null: it may not move
 */
export function bestGains({ stepTimesUs, missingBytes }, placement, stepTimeUs) {
  return stepTimesUs.map((times, group) => {
    const others = times.filter((time, device) => device !== placement[group] && time !== null);
    const fitting = times.filter((time, device) => device !== placement[group] && time !== null && missingBytes[group][device] === 0);
    const least = fitting.reduce((/** @type {number} */ one, time) => Math.min(one, time ?? Infinity), Infinity);
    return others.length === 0 ? null : Math.max(0, stepTimeUs - least);
  });
}
