/** The contents of a run's chart, apart from the drawing: the range of step times, and the lines inside and outside. */

import { isNumber } from "../ui/format.js";
import { extent, roomFor } from "./scale.js";

/**
 * @typedef {object} Line a horizontal line
 * @property {string} key
 * @property {string} label
 * @property {number} valueUs
 * @property {"inside" | "above" | "below"} place against the range shown
 *
 * @typedef {object} ChartModel
 * @property {readonly [number, number]} rangeUs of the step times shown
 * @property {Line[]} lines
 * @property {number} above episodes slower than the range
 * @property {number} bestUs the least of the times shown, whose unit is that of the axis
 */

/** Lines within this factor of the episodes extend the range, */
const NEAR = 3;
/** if the episodes keep this share of it; nearly equal episodes count as if they differed by LEAST_SPREAD. */
const LEAST_SHARE = 0.45;
const LEAST_SPREAD = 0.35;
const MARGIN = 0.06;

/** Quantiles of more step times than these are those of an even selection. */
const MOST_ORDERED = 4096;

/**
 * @param {import("../run/run-state.js").RunState} state
 * @param {boolean} logarithmic
 * @param {Record<string, string>} methodLabels method → label
 * @param {readonly [number, number]} [part] the episodes shown: from an index to before another
 * @param {readonly number[]} [also] times that the range takes in
 * @returns {ChartModel | null} null if there is nothing to show
 */
export function chartModel(state, logarithmic, methodLabels, [from, to] = [0, state.episodes.length], also = []) {
  const lines = candidateLines(state, methodLabels);
  const episodes = state.episodes.whole();
  const times = [];
  for (let index = from; index < to; index += 1) {
    const { stepTimeUs } = episodes[index];
    if (isNumber(stepTimeUs) && stepTimeUs > 0) {
      times.push(stepTimeUs);
    }
  }
  const best = episodes[to - 1]?.bestStepTimeUs;
  const bests = isNumber(best) ? [best] : [];
  const baselines = lines.filter(({ key }) => logarithmic || key !== "lower_bound").map(({ valueUs }) => valueUs);
  const core = times.length > 0 ? [...quantileRange(times, logarithmic), ...bests, ...also] : baselines;
  if (core.length === 0) {
    return null;
  }
  const rangeUs = padded(widened(core, baselines, logarithmic), logarithmic);
  return {
    rangeUs,
    lines: lines.map((line) => ({ ...line, place: placeOf(line.valueUs, rangeUs) })),
    above: times.filter((time) => time > rangeUs[1]).length,
    bestUs: Math.min(...bests, core[0]),
  };
}

/**
 * The range of the episodes' numbers, which have gaps: a search emits only one episode in many.
 *
 * @param {readonly { episode: number }[]} episodes
 * @returns {[number, number]}
 */
export function episodeRange(episodes) {
  return [1, roomFor(episodes.at(-1)?.episode ?? 0)];
}

/**
 * @param {readonly { episode: number }[]} episodes in the order of their numbers
 * @param {readonly [number, number]} domain of numbers
 * @returns {[number, number]} the episodes within the domain and one on each side, where there is one: from an index to
 *   before another
 */
export function shownPart(episodes, [low, high]) {
  return [Math.max(0, firstFrom(episodes, low) - 1), Math.min(episodes.length, firstFrom(episodes, high) + 1)];
}

/**
 * @param {readonly { episode: number }[]} episodes in the order of their numbers
 * @param {number} number
 * @returns {number} index of the first one from `number` on
 */
function firstFrom(episodes, number) {
  let [low, high] = [0, episodes.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (episodes[middle].episode < number) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/**
 * @param {readonly { episode: number }[]} episodes in the order of their numbers
 * @param {number} number of an episode that need not be among them
 * @returns {number} the index of the nearest one, -1 without one
 */
export function nearestEpisode(episodes, number) {
  let low = 0;
  let high = episodes.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (number - episodes[middle].episode <= episodes[middle + 1].episode - number) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return high;
}

/**
 * @param {number} valueUs
 * @param {readonly [number, number]} rangeUs
 * @returns {"inside" | "above" | "below"}
 */
export function placeOf(valueUs, [low, high]) {
  if (valueUs > high) {
    return "above";
  }
  return valueUs < low ? "below" : "inside";
}

/**
 * @param {import("../run/run-state.js").RunState} state
 * @param {Record<string, string>} methodLabels
 * @returns {{ key: string, label: string, valueUs: number }[]}
 */
function candidateLines(state, methodLabels) {
  const lines = state.baselines.flatMap(({ method, step_time_us: valueUs }) =>
    isNumber(valueUs) && valueUs > 0 ? [{ key: method, label: methodLabels[method] ?? method, valueUs }] : [],
  );
  const bound = state.started?.lower_bound_us;
  return isNumber(bound) && bound > 0 ? [...lines, { key: "lower_bound", label: "Lower bound", valueUs: bound }] : lines;
}

/**
 * From the least to the greatest; on a linear axis without the few far slower ones.
 *
 * @param {readonly number[]} times
 * @param {boolean} logarithmic
 * @returns {[number, number]}
 */
function quantileRange(times, logarithmic) {
  const [least, greatest] = extent(times);
  const every = Math.ceil(times.length / MOST_ORDERED);
  const ordered = Float64Array.from({ length: Math.ceil(times.length / every) }, (_, index) => times[index * every]).sort();
  const most = ordered[Math.floor((ordered.length - 1) * 0.98)];
  const median = ordered[Math.floor((ordered.length - 1) / 2)];
  const far = !logarithmic && greatest > NEAR * median && most < greatest / 1.5;
  return [least, far ? most : greatest];
}

/**
 * @param {number[]} core
 * @param {number[]} baselines
 * @param {boolean} logarithmic
 * @returns {[number, number]}
 */
function widened(core, baselines, logarithmic) {
  const low = Math.min(...core);
  const high = Math.max(...core);
  if (logarithmic) {
    return [Math.min(low, ...baselines), Math.max(high, ...baselines)];
  }
  const most = Math.max(high - low, high * LEAST_SPREAD) / LEAST_SHARE;
  const near = baselines.filter((value) => value <= high * NEAR && value >= low / NEAR);
  return [
    Math.min(low, ...near.filter((value) => high - value <= most)),
    Math.max(high, ...near.filter((value) => value - low <= most)),
  ];
}

/**
 * @param {readonly [number, number]} range
 * @param {boolean} logarithmic
 * @returns {[number, number]}
 */
function padded([low, high], logarithmic) {
  if (logarithmic) {
    const factor = Math.max((high / low) ** MARGIN, 1.02);
    return [low / factor, high * factor];
  }
  const margin = Math.max((high - low) * MARGIN, high * 0.01);
  return [Math.max(0, low - margin), high + margin];
}
