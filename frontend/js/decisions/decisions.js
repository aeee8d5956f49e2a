/** The decisions of a policy inside one episode: a pure model of the server's answer. */

import { baselineTime } from "../run/run-numbers.js";

/** @typedef {import("../run/run-state.js").RunState} RunState */

/**
 * @typedef {object} Decisions
 * @property {number} episode
 * @property {boolean} is_exact whether weights, start and order are those of the episode
 * @property {number} explore share of a uniform choice in the probabilities
 * @property {number[]} start [groups] device before the first decision, -1 for none
 * @property {number[]} order [decisions] the group
 * @property {number[]} chosen [decisions] the device
 * @property {number[][]} probabilities [decisions, devices]
 *
 * @typedef {object} Decision
 * @property {number} group
 * @property {number} device the chosen one
 * @property {number} probability of it
 * @property {{ device: number, probability: number }[]} options the most probable first, those without a chance left out
 */

const DEFAULT_BATCH = 16;

/**
 * @param {Decisions} decisions
 * @param {number} step from 0
 * @returns {Decision}
 */
export function decisionAt({ order, chosen, probabilities }, step) {
  const options = probabilities[step]
    .map((probability, device) => ({ device, probability }))
    .filter(({ probability, device }) => probability > 0 || device === chosen[step])
    .sort((one, other) => other.probability - one.probability || one.device - other.device);
  return { group: order[step], device: chosen[step], probability: probabilities[step][chosen[step]], options };
}

/**
 * `Decision 17 of 128, mixed_35/concat: GPU 0: 0.71, GPU 1: 0.26, CPU 0: 0.03; it took GPU 0.`
 *
 * @param {Decisions} decisions
 * @param {number} step
 * @param {string} group its name
 * @param {readonly string[]} labels of the devices
 * @returns {string}
 */
export function decisionSentence(decisions, step, group, labels) {
  const { options, device } = decisionAt(decisions, step);
  const chances = options.map((option) => `${labels[option.device]}: ${probabilityText(option.probability)}`).join(", ");
  return `Decision ${step + 1} of ${decisions.order.length}, ${group}: ${chances}; it took ${labels[device]}.`;
}

/**
 * @param {number} probability
 * @returns {string} two decimals
 */
export function probabilityText(probability) {
  if (probability > 0 && probability < 0.005) {
    return "< 0.01";
  }
  return probability > 0.995 && probability < 1 ? "> 0.99" : probability.toFixed(2);
}

/**
 * The decisions that the policy was least sure of: the chosen device had the least probability.
 *
 * @param {Decisions} decisions
 * @param {number} most
 * @returns {number[]} steps
 */
export function leastSure(decisions, most) {
  const sure = decisions.order.map((_, step) => decisions.probabilities[step][decisions.chosen[step]]);
  return sure.map((_, step) => step).sort((one, other) => sure[one] - sure[other] || one - other).slice(0, most);
}

/**
 * @param {Decisions} decisions
 * @param {number} step
 * @returns {Uint8Array} [groups] 1: decided at `step` or before
 */
export function decidedAt({ order, start }, step) {
  const decided = new Uint8Array(start.length);
  for (const group of order.slice(0, step + 1)) {
    decided[group] = 1;
  }
  return decided;
}

/**
 * @param {Decisions} decisions
 * @returns {string} what the probabilities are, in sentences
 */
export function honestWords({ is_exact: isExact, explore }) {
  const mixed = explore > 0 ? ` They include ${percent(explore)} of a uniform choice, by which training explores.` : "";
  return isExact
    ? `These are the decisions as they were made, with the policy’s weights at that time.${mixed}`
    : `The weights of this episode were not kept: these are the probabilities that the policy had at the end of the run, going through this episode’s choices from the best placement before it.${mixed}`;
}

/**
 * The episode from whose placement an episode most likely started: the best one before its batch, if it is faster than a
 * single device. The training decides a batch of episodes from one start.
 *
 * @param {RunState} state
 * @param {number} index of an episode
 * @returns {number | null} number of its event; null: the start is not an episode
 */
export function startSeqOf(state, index) {
  const number = state.episodes.at(index)?.episode ?? 0;
  const size = Number(state.started?.settings.batch_episodes ?? DEFAULT_BATCH);
  const first = number - ((number - 1) % Math.max(1, size));
  const earlier = state.improvements.whole().map((each) => state.episodes.at(each)).filter((episode) => episode && episode.episode < first);
  const best = earlier.at(-1);
  const single = baselineTime(state, "single_device") ?? Infinity;
  return best && best.stepTimeUs < single ? best.seq : null;
}

/** @param {number} share */
function percent(share) {
  return `${(share * 100).toLocaleString("en", { maximumSignificantDigits: 2 })} %`;
}
