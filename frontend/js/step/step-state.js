/** What the store of a run's page knows once the step of the shown placement is explained. */

import { FIRST_GRAPH_STATE } from "../graph/graph-state.js";

/**
 * @typedef {import("../graph/graph-state.js").GraphState & { step: import("./step.js").Step | null }} StepState
 *   `step`: of the shown placement; null: not known yet
 * @typedef {import("../run/store.js").Store<StepState>} StepStore
 */

/** @type {StepState} */
export const FIRST_STEP_STATE = Object.freeze({ ...FIRST_GRAPH_STATE, step: null });
