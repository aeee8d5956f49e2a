/** The state of a comparison: each of its events is the whole state, so only the newest counts. */

import { KNOWN_VERSION } from "./job-state.js";

/**
 * The server's state of a comparison.
 *
 * @typedef {object} Band arrays of [points]
 * @property {number[]} evaluations
 * @property {number[]} median_us
 * @property {number[]} low_us
 * @property {number[]} high_us
 *
 * @typedef {object} MethodRow
 * @property {string} method
 * @property {string} label
 * @property {Band} band
 *
 * @typedef {object} ComparisonState
 * @property {number} total runs
 * @property {number} ended
 * @property {number} running
 * @property {number} [left_seconds] an estimate; missing while none can be made
 * @property {number | null} one_device_us
 * @property {number | null} lower_bound_us
 * @property {MethodRow[]} methods
 *
 * @typedef {ComparisonState & { type: "comparison", seq: number, version: number }} ComparisonEvent
 *
 * @typedef {object} Comparison
 * @property {number} lastSeq number of the event that is shown
 * @property {false} missing never: an event holds the whole state
 * @property {string} status
 * @property {boolean} unreadable whether the event had a version that this page does not know
 * @property {ComparisonState} shown
 */

/**
 * @param {ComparisonState} shown
 * @returns {Comparison}
 */
export function initialState(shown) {
  return Object.freeze({ lastSeq: 0, missing: false, status: "queued", unreadable: false, shown });
}

/**
 * @param {Comparison} state
 * @param {import("./job-state.js").EventsAction<ComparisonEvent> | import("./job-state.js").StatusAction} action
 * @returns {Comparison} the same object where nothing changed
 */
export function reduce(state, action) {
  if (action.type === "status") {
    return state.status === action.status ? state : Object.freeze({ ...state, status: action.status });
  }
  const event = action.events.at(-1);
  if (!event || event.seq === state.lastSeq) {
    return state;
  }
  const known = event.version === KNOWN_VERSION;
  return Object.freeze({ ...state, lastSeq: event.seq, unreadable: !known, shown: known ? event : state.shown });
}
