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
 *
 * @typedef {import("./gain-rows.js").AnswerOfGains} AnswerOfGains
 */

/** Several views ask for the gains of the placement that is shown. */
const MOST_KEPT = 8;

/** @type {Map<string, Promise<AnswerOfGains>>} */
const kept = new Map();

/**
 * Every single move of a group.
 *
 * @param {Fields} fields
 * @returns {Promise<AllGains>} throws ServerError with the server's sentence
 */
export function gainsOfAll(fields) {
  return gainsOf({ ...fields, groups: [...fields.placement.keys()] });
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
  const { stepTimesUs, missingBytes } = await gainsOf({ ...fields, groups, ...(groups.length > 1 ? { together: true } : {}) });
  return { nowUs, stepTimesUs: stepTimesUs[0], missingBytes: missingBytes[0] };
}

/**
 * Every single move of the groups that take the longest, as many as the server finds in good time.
 *
 * @param {Fields} fields
 * @returns {Promise<AnswerOfGains>} throws ServerError with the server's sentence
 */
export function largestMoves(fields) {
  return asked(fields);
}

/**
 * @param {Fields & { groups: readonly number[], together?: boolean }} fields
 * @returns {Promise<AllGains>}
 */
async function gainsOf(fields) {
  const { step_time_us: stepTimesUs, missing_bytes: missingBytes } = await asked(fields);
  return { stepTimesUs, missingBytes };
}

/**
 * @param {Fields & { groups?: readonly number[], together?: boolean }} fields
 * @returns {Promise<AnswerOfGains>}
 */
function asked(fields) {
  const key = JSON.stringify(fields);
  let answer = kept.get(key);
  if (!answer) {
    answer = ask(fields);
    answer.catch(() => kept.delete(key));
    kept.set(key, answer);
    if (kept.size > MOST_KEPT) {
      kept.delete(/** @type {string} */ (kept.keys().next().value));
    }
  }
  return answer;
}

/**
 * @param {Record<string, unknown>} fields
 * @returns {Promise<AnswerOfGains>}
 */
async function ask(fields) {
  return (await post("gains.json", fields, "application/json")).json();
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
