/** The state of a comparison: its one event is its state now, and the newest that came is the one that counts. */

import { KNOWN_VERSION } from "./job-state.js";

/**
 * What the server tells.
 *
 * @typedef {object} Band all are [points]
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
 * @property {number | null} one_device_us
 * @property {number | null} lower_bound_us
 * @property {MethodRow[]} methods
 *
 * @typedef {ComparisonState & { type: "comparison", seq: number, version: number }} ComparisonEvent
 *
 * @typedef {object} Comparison
 * @property {number} lastSeq number of the event that is shown
 * @property {false} missing an event tells all, so that none before it can be missed
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
