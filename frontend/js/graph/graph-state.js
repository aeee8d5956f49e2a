/** What the store of a page knows of the groups of a graph, beside what it shows. */

import { FIRST_PAGE } from "../run/page-state.js";

/**
 * @typedef {object} GroupsKnown
 * @property {import("./colouring.js").StepFacts | null} facts of the groups in the step of the shown placement
 * @property {ArrayLike<number | null> | null} gainShare as `Facts` has it
 * @property {string} colourProblem why the facts that the colour needs are not known; empty: no problem
 * @property {Uint8Array | null} decided [groups] 1: decided before the shown decision; null: no decision is shown
 *
 * @typedef {import("../run/page-state.js").PageState & GroupsKnown} GraphState
 * @typedef {import("../run/store.js").Store<GraphState>} GraphStore
 */

/** @type {GraphState} */
export const FIRST_GRAPH_STATE = Object.freeze({ ...FIRST_PAGE, facts: null, gainShare: null, colourProblem: "", decided: null });
