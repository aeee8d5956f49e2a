/**
 * What the page of a graph or of a run has in its store. Each floor of modules adds what it knows: this one the view of
 * the address and the run; `graph/graph-state.js` facts of the groups; `step/step-state.js` the step.
 */

import { FIRST_VIEW } from "./view.js";

/**
 * @typedef {object} Known
 * @property {number} op the chosen op, -1 for none; its group is the chosen one
 * @property {string} chosenIn the part of the page in which a person chose what is chosen: it shows that already, the
 *   others scroll to it
 * @property {import("./run-state.js").RunState | null} run null: nothing is known of it yet
 * @property {import("./shown-placement.js").Placed | null} placed the shown placement
 * @property {object | null} kept another value once the list of kept placements has changed, or one of them is known
 *
 * @typedef {import("./view.js").View & Known} PageState
 */

/** @type {readonly (keyof import("./view.js").View)[]} */
export const VIEW_KEYS = /** @type {any} */ (Object.freeze(Object.keys(FIRST_VIEW)));

/** @type {PageState} */
export const FIRST_PAGE = Object.freeze({ ...FIRST_VIEW, op: -1, chosenIn: "", run: null, placed: null, kept: null });

/**
 * The choice of groups, for the store. The chosen op stays chosen where the groups do.
 *
 * @param {PageState} state
 * @param {readonly number[]} groups the last one becomes the chosen one; -1: none
 * @param {string} [by] the part of the page that shows the choice already
 */
export function choice(state, groups, by = "") {
  const chosen = groups.filter((group) => group >= 0);
  const isSame = chosen.length === state.groups.length && chosen.every((group, index) => group === state.groups[index]);
  return { groups: chosen, op: isSame ? state.op : -1, chosenIn: by };
}

/**
 * @param {PageState} state
 * @returns {number} the chosen group, -1 for none
 */
export function chosenGroup({ groups }) {
  return groups.at(-1) ?? -1;
}
