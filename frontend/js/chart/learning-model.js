/** The contents of the learning curves, apart from the drawing: panels one above the other, each with its lines. */

import { isNumber } from "../ui/format.js";
import { extent } from "./scale.js";

/**
 * @typedef {import("../ui/contracts.js").UpdateEvent} UpdateEvent
 * @typedef {"mean_return" | "return_baseline" | "memory_penalty" | "entropy" | "gradient_norm" | "learning_rate"} LearningKey
 *
 * @typedef {object} LearningLine
 * @property {LearningKey} key
 * @property {string} label
 * @property {readonly (readonly [number, number])[]} points episode and value of the updates shown
 *
 * @typedef {object} LearningPanel
 * @property {string} title
 * @property {string} tip what it is
 * @property {LearningLine[]} lines at least one, each with at least one point
 * @property {readonly [number, number]} range of the values shown
 */

/**
 * @typedef {object} Numbers that share a panel
 * @property {string} title
 * @property {string} tip
 * @property {readonly (readonly [LearningKey, string])[]} keys and their names
 * @property {boolean} fromZero whether the range begins at 0; then a panel of zeros is left out
 */

/** @type {readonly Numbers[]} */
export const PANELS = Object.freeze([
  {
    title: "Return",
    tip: "Mean return of an episode, the higher the better, beside the return that the method expected: it learns from the difference.",
    keys: [["mean_return", "Return"], ["return_baseline", "Expected return"]],
    fromZero: false,
  },
  {
    title: "Entropy of a decision",
    tip: "How undecided the policy is: 0 where it always takes the same device, 0.69 where it tosses a coin between two.",
    keys: [["entropy", "Entropy"]],
    fromZero: true,
  },
  {
    title: "Memory penalty",
    tip: "The part of the return that missing memory takes; 0 where all placements fit.",
    keys: [["memory_penalty", "Memory penalty"]],
    fromZero: true,
  },
  {
    title: "Gradient norm",
    tip: "Length of the gradient before it is clipped.",
    keys: [["gradient_norm", "Gradient norm"]],
    fromZero: true,
  },
]);

/** What only the numbers at the cursor have. @type {readonly Numbers[]} */
export const PLAIN = Object.freeze([
  { title: "Learning rate", tip: "Step size of the optimizer.", keys: [["learning_rate", "Learning rate"]], fromZero: true },
]);

/** Beyond so many points a line is thinned: more cannot be seen. */
const MOST_POINTS = 1500;

/**
 * @param {readonly UpdateEvent[]} updates in the order of their episodes
 * @param {readonly [number, number]} domain the episodes shown
 * @returns {LearningPanel[]} those whose numbers the method has and that are not all 0, each with the range of the updates shown
 */
export function learningPanels(updates, domain) {
  const shown = shownUpdates(updates, domain);
  return PANELS.flatMap(({ title, tip, keys, fromZero }) => {
    const known = keys.filter(([key]) => updates.some((update) => isNumber(update[key]) && (!fromZero || update[key] !== 0)));
    const lines = known.map(([key, label]) => ({ key, label, points: pointsOf(shown, key) })).filter(({ points }) => points.length > 0);
    return lines.length === 0 ? [] : [{ title, tip, lines, range: rangeOf(lines, fromZero) }];
  });
}

/**
 * @param {readonly UpdateEvent[]} updates in the order of their episodes
 * @param {number} number of an episode
 * @returns {UpdateEvent | null} the update in which that episode counts: the first from it on, or the last of all
 */
export function updateAt(updates, number) {
  return updates[firstFrom(updates, number)] ?? updates.at(-1) ?? null;
}

/**
 * @param {readonly UpdateEvent[]} updates
 * @param {readonly [number, number]} domain
 * @returns {readonly UpdateEvent[]} those within the domain and one on each side
 */
function shownUpdates(updates, [low, high]) {
  const part = updates.slice(Math.max(0, firstFrom(updates, low) - 1), firstFrom(updates, high) + 1);
  const every = Math.ceil(part.length / MOST_POINTS);
  return every < 2 ? part : part.filter((_, index) => index % every === 0 || index === part.length - 1);
}

/**
 * @param {readonly UpdateEvent[]} updates
 * @param {number} number
 * @returns {number} index of the first one from that episode on
 */
function firstFrom(updates, number) {
  let [low, high] = [0, updates.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    [low, high] = updates[middle].episode < number ? [middle + 1, high] : [low, middle];
  }
  return low;
}

/**
 * @param {readonly UpdateEvent[]} updates
 * @param {LearningKey} key
 * @returns {[number, number][]}
 */
function pointsOf(updates, key) {
  return updates.flatMap((update) => {
    const value = update[key];
    return isNumber(value) ? [/** @type {[number, number]} */ ([update.episode, value])] : [];
  });
}

/**
 * @param {readonly LearningLine[]} lines
 * @param {boolean} fromZero
 * @returns {[number, number]}
 */
function rangeOf(lines, fromZero) {
  const [low, high] = extent(lines.flatMap(({ points }) => points.map(([, value]) => value)));
  const room = Math.max((high - low) * 0.08, Math.abs(high) * 0.02, 1e-9);
  return fromZero ? [Math.min(0, low), high + room] : [low - room, high + room];
}
