/** The contents of a comparison's figure, apart from the drawing: ranges, lines, bands, labels. */

import { formatEstimate } from "../ui/format.js";
import { extent } from "./scale.js";

/**
 * @typedef {import("../jobs/comparison-state.js").Band} Band
 * @typedef {import("../jobs/comparison-state.js").ComparisonState} ComparisonState
 *
 * @typedef {object} Series
 * @property {number} index among all methods: its colour
 * @property {string} label
 * @property {Band} band
 * @property {number} lastUs
 *
 * @typedef {object} ComparisonModel
 * @property {Series[]} series of the methods that have something to show
 * @property {readonly [number, number]} evaluations
 * @property {readonly [number, number]} rangeUs
 * @property {number | null} singleDeviceUs
 */

/** Lines slower than this multiple of the best are only named at the edge: they would flatten the others. */
const FAR = 2.5;
const MARGIN = 0.07;

/**
 * @param {ComparisonState} state
 * @returns {ComparisonModel | null} null if there is nothing to show
 */
export function comparisonModel(state) {
  const series = state.methods.flatMap(({ label, band }, index) => {
    const lastUs = band.median_us.at(-1);
    return lastUs === undefined ? [] : [{ index, label, band, lastUs }];
  });
  if (series.length === 0) {
    return null;
  }
  const [best] = extent(series.flatMap(({ band }) => band.low_us));
  const all = series.flatMap(({ band }) => band.high_us);
  const one = state.one_device_us === null ? [] : [state.one_device_us];
  const near = [...all, ...one].filter((time) => time <= best * FAR);
  const bestLine = Math.min(...series.map(({ lastUs }) => lastUs)); // always in the range
  const high = Math.max(bestLine, extent(near)[1]);
  const margin = Math.max((high - best) * MARGIN, high * 0.01);
  const [first, last] = extent(series.flatMap(({ band }) => band.evaluations));
  return {
    series,
    evaluations: [Math.max(1, first), Math.max(2, last)],
    rangeUs: [Math.max(0, best - margin), high + margin],
    singleDeviceUs: state.one_device_us,
  };
}

/**
 * @param {ComparisonState} state
 * @returns {string}
 */
export function stateWords({ total, ended, running, left_seconds: left }) {
  if (total === 0) {
    return "All runs of this comparison have been deleted";
  }
  if (ended === total) {
    return total === 1 ? "The run has ended" : `All ${total} runs have ended`;
  }
  const words = `${ended} of ${total} runs ended`;
  return running > 0 ? `${words}, ${running} running${left === undefined ? "" : `, ${formatEstimate(left)} left`}` : `${words}; the rest are waiting for a free worker`;
}
