/** The state of a search for plans as a pure function of its events: the plans told, and how far it is. */

import { following, KNOWN_VERSION } from "./job-state.js";

/**
 * @typedef {object} ReplicaInShort
 * @property {number[]} devices
 * @property {number} micro_batch samples
 * @property {number} micro_batches
 * @property {number[][]} turns sets of devices that take a stage in turn
 *
 * @typedef {object} ToldPlan
 * @property {number | null} samples_per_second null where a batch takes no time
 * @property {number} batch_time_us
 * @property {number[]} peak_bytes by device
 * @property {ReplicaInShort[]} replicas none where a usual plan is a figure alone
 * @property {boolean} is_best whether it is faster than all before it
 * @property {string | null} usual the name of a usual plan
 *
 * @typedef {{ seq: number, version: number, type: "again" }
 *   | { seq: number, version: number, type: "progress", done: number, total: number }
 *   | ({ seq: number, version: number, type: "plan" } & ToldPlan)} PlanEvent
 *
 * @typedef {object} PlanState
 * @property {number} lastSeq
 * @property {boolean} missing whether an event came before one that is not here yet
 * @property {import("../ui/contracts.js").RunStatus} status
 * @property {boolean} unreadable whether an event had a version that this page does not know
 * @property {readonly ToldPlan[]} plans in the order in which they were told
 * @property {number} done candidates
 * @property {number} total candidates; 0 until it is known
 */

/**
 * @param {import("../ui/contracts.js").RunStatus} status
 * @returns {PlanState}
 */
export function initialState(status) {
  return Object.freeze({ lastSeq: 0, missing: false, status, unreadable: false, plans: Object.freeze([]), done: 0, total: 0 });
}

/**
 * @param {PlanState} state
 * @param {import("./job-state.js").EventsAction<PlanEvent> | import("./job-state.js").StatusAction} action
 * @returns {PlanState} the same object where nothing changed
 */
export function reduce(state, action) {
  if (action.type === "status") {
    return state.status === action.status ? state : Object.freeze({ ...state, status: action.status });
  }
  const { fresh, missing } = following(action.events, state.lastSeq);
  if (fresh.length === 0) {
    return missing === state.missing ? state : Object.freeze({ ...state, missing });
  }
  return Object.freeze(fresh.reduce(after, { ...state, missing }));
}

/**
 * @param {PlanState} state
 * @param {PlanEvent} event
 * @returns {PlanState}
 */
function after(state, event) {
  const next = { ...state, lastSeq: event.seq };
  if (event.version !== KNOWN_VERSION) {
    return { ...next, unreadable: true };
  }
  switch (event.type) {
    case "again":
      return { ...next, plans: [], done: 0, total: 0 };
    case "progress":
      return { ...next, done: event.done, total: event.total };
    case "plan":
      return { ...next, plans: [...state.plans, event] };
  }
}

/**
 * The fastest of plans.
 *
 * @param {readonly ToldPlan[]} plans
 * @returns {ToldPlan | undefined}
 */
export function fastest(plans) {
  return plans.reduce((best, plan) => (best === undefined || plan.batch_time_us < best.batch_time_us ? plan : best), /** @type {ToldPlan | undefined} */ (undefined));
}
