/** What moves of groups would change, asked for once for a placement. */

import { post } from "../ui/server.js";

/**
 * @typedef {object} AllGains
 * @property {(number | null)[][]} stepTimesUs [groups][devices] null: the group may not go there
 * @property {number[][]} missingBytes [groups][devices]
 *
 * @typedef {object} MoveGains what moving some groups, all of them to one device, would change
 * @property {number} nowUs the step before it
 * @property {(number | null)[]} stepTimesUs [devices] null: they may not go there
 * @property {number[]} missingBytes [devices]
 *
 * @typedef {{ placement: number[], base: string }} Fields a placement as requests have it
 */

/** Several views ask for the gains of the placement that is shown. */
const MOST_KEPT = 8;

/** @type {Map<string, Promise<AllGains>>} */
const kept = new Map();

/**
 * Every single move of a group.
 *
 * @param {Fields} fields
 * @returns {Promise<AllGains>} throws ServerError with the server's sentence
 */
export function gainsOfAll(fields) {
  return asked({ ...fields, groups: [...fields.placement.keys()] });
}

/**
 * One group, or several that move together.
 *
 * @param {Fields} fields
 * @param {readonly number[]} groups
 * @param {number} nowUs step time of the placement
 * @returns {Promise<MoveGains>} throws ServerError with the server's sentence
 */
export async function gainsOfMove(fields, groups, nowUs) {
  const { stepTimesUs, missingBytes } = await asked({ ...fields, groups, ...(groups.length > 1 ? { together: true } : {}) });
  return { nowUs, stepTimesUs: stepTimesUs[0], missingBytes: missingBytes[0] };
}

/**
 * @param {Fields & { groups: readonly number[], together?: boolean }} fields
 * @returns {Promise<AllGains>}
 */
function asked(fields) {
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
 * @param {Record<string, unknown>} fields
 * @returns {Promise<AllGains>}
 */
async function ask(fields) {
  const answer = await post("gains.json", fields, "application/json");
  const { step_time_us: stepTimesUs, missing_bytes: missingBytes } = await answer.json();
  return { stepTimesUs, missingBytes };
}

/**
 * The share of the step that the best move of each group to another device saves, where it fits.
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
    return others.length === 0 ? null : Math.max(0, 1 - least / stepTimeUs);
  });
}
