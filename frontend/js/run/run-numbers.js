/** The figures on the run page, computed from a run's state. */

import { hasEnded } from "../jobs/job-state.js";
import { formatAgainst, formatDuration, formatPercent, formatTime, NOTHING } from "../ui/format.js";

/** An answer that loses less than this with other costs holds. */
const HOLDS_WITHIN = 0.03;
/** Less would be said as 0 %. */
const LEAST_SAID = 0.0005;
/** The share of its evaluations over which the rate of a run is taken: methods work in batches, and rest between. */
const SHARE_OF_RATE = 0.5;
/** A limit of time ends a run between two evaluations, a little after it. */
const NEARLY = 0.98;

/**
 * @typedef {object} RunNumbers
 * @property {number} used evaluations
 * @property {number} budget evaluations
 * @property {number | null} bestUs best feasible step time so far
 * @property {number | null} singleUs best single device
 * @property {number | null} elapsedSeconds with the baselines
 * @property {number} baselineSeconds of them: what the baselines took; 0 where an older version did not store it
 * @property {number | null} leftSeconds estimate, null if none can be made
 * @property {number | null} lowerBoundUs
 */

/**
 * @param {import("./run-state.js").RunState} state
 * @param {{ evaluations: number, seconds: number | null }} budget
 * @returns {RunNumbers}
 */
export function runNumbers(state, budget) {
  const last = state.episodes.last;
  const singleUs = baselineTime(state, "single_device");
  const bestUs = state.report?.feasible ? state.report.step_time_us : (last?.bestStepTimeUs ?? null);
  const searched = state.report?.wall_seconds ?? last?.elapsedSeconds ?? null;
  const baselineSeconds = state.baselines.reduce((sum, { wall_seconds: seconds }) => sum + (seconds ?? 0), 0);
  return {
    used: state.report?.evaluations ?? last?.evaluations ?? 0,
    budget: state.started?.evaluations ?? budget.evaluations,
    bestUs,
    singleUs,
    elapsedSeconds: searched === null ? null : searched + baselineSeconds,
    baselineSeconds,
    leftSeconds: hasEnded(state.status) ? null : leftSeconds(state, budget),
    lowerBoundUs: state.started?.lower_bound_us ?? state.report?.lower_bound_us ?? null,
  };
}

/**
 * @param {import("./run-state.js").RunState} state
 * @param {string} method
 * @returns {number | null}
 */
export function baselineTime(state, method) {
  return state.baselines.find((baseline) => baseline.method === method)?.step_time_us ?? null;
}

/**
 * How the best placement compares with the best single device: `16 % faster than one device`.
 *
 * @param {Pick<RunNumbers, "bestUs" | "singleUs">} numbers
 * @returns {string}
 */
export function againstOneDevice({ bestUs, singleUs }) {
  if (bestUs === null) {
    return NOTHING;
  }
  if (singleUs === null) {
    return "does not fit on one device";
  }
  return formatAgainst(bestUs / singleUs - 1, "one device");
}

/**
 * How far the best placement is from the lower bound: `57 % above it`.
 *
 * @param {Pick<RunNumbers, "bestUs" | "lowerBoundUs">} numbers
 * @returns {string}
 */
export function aboveBound({ bestUs, lowerBoundUs }) {
  if (bestUs === null || lowerBoundUs === null || lowerBoundUs <= 0) {
    return NOTHING;
  }
  return `best is ${formatPercent(bestUs / lowerBoundUs - 1)} above it`;
}

/**
 * What a report says of its answer under other costs; empty where it says nothing or there was nothing to compare.
 *
 * @param {import("../ui/contracts.js").Robustness | undefined} robustness
 * @param {boolean} [isOfStream] whether periods were compared, while the batch chose the answer
 * @returns {string}
 */
export function robustnessWords(robustness, isOfStream = false) {
  if (!robustness) {
    return "";
  }
  const { mean_regret: mean, worst_regret: worst, candidates, note } = robustness;
  if (mean === null || worst === null) {
    return `Whether it holds with other costs is not known: ${note}.`;
  }
  if (candidates < 2) {
    return "";
  }
  if (isOfStream) {
    return `If costs are up to 30 % off, its period is at most ${formatPercent(worst)} longer than the shortest of ${candidates} good placements, ${formatPercent(mean)} on average. Batches were not compared so.`;
  }
  if (worst < LEAST_SAID) {
    return `The placement holds if costs are up to 30 % off: it stays the best of ${candidates} good ones.`;
  }
  const head = worst < HOLDS_WITHIN ? "The placement holds if costs are up to 30 % off: then it is" : "If costs are up to 30 % off, another placement may be better: then this one is";
  return `${head} at most ${formatPercent(worst)} slower than the best of ${candidates} good ones, ${formatPercent(mean)} on average.`;
}

/**
 * What a report on a calibrated cluster says of a real step; empty on any other cluster.
 *
 * @param {import("../ui/contracts.js").ErrorBand | undefined} band
 * @returns {string}
 */
export function bandWords(band) {
  if (!band) {
    return "";
  }
  const range = `${formatTime(band.low_us)} to ${formatTime(band.high_us)}`;
  return `On the machine that was calibrated on ${band.date}, a real step takes about ${formatTime(band.middle_us)}: ${range} if this graph behaves as the calibration's did.`;
}

/**
 * Why a run used fewer evaluations than its budget allows; empty where it used them all, or still works.
 *
 * @param {import("./run-state.js").RunState} state
 * @param {{ evaluations: number, seconds: number | null }} budget
 * @returns {string}
 */
export function whyEarly(state, budget) {
  const { used, budget: allowed } = runNumbers(state, budget);
  if (!hasEnded(state.status) || used >= allowed) {
    return "";
  }
  if (state.status === "cancelled") {
    return "it was cancelled";
  }
  if (state.status === "failed" || !state.report) {
    return "it failed";
  }
  if (state.report.ended_by) {
    return "its measurements failed";
  }
  if (budget.seconds !== null && state.report.wall_seconds >= budget.seconds * NEARLY) {
    return `its limit of ${formatDuration(budget.seconds)} was reached`;
  }
  return "the method had nothing more to try";
}

/**
 * What a run does from its start to its first episode: which baseline it evaluates, and what comes then.
 *
 * @param {import("./run-state.js").RunState} state
 * @param {readonly string[]} names of the baselines, in the order in which they are evaluated
 * @param {string} left time of the baselines, `, ≈ 3 s left`, or empty
 * @returns {string}
 */
export function beforeFirstEpisode(state, names, left) {
  const done = state.baselines.length;
  if (done < names.length) {
    return `First the baselines, to compare with: ${names[done]}, ${done + 1} of ${names.length}${left}. Together they take some seconds; a large graph takes longer.`;
  }
  const { baselineSeconds } = runNumbers(state, { evaluations: 0, seconds: null });
  const took = baselineSeconds > 0 ? ` The baselines took ${formatDuration(baselineSeconds)}.` : "";
  return `The method prepares its first placements.${took}`;
}

/**
 * The time for the remaining evaluations at the rate of the last half so far, or the remaining seconds if they are
 * fewer.
 *
 * @param {import("./run-state.js").RunState} state
 * @param {{ evaluations: number, seconds: number | null }} budget
 * @returns {number | null}
 */
function leftSeconds(state, budget) {
  const last = state.episodes.last;
  if (!last || state.episodes.length < 2) {
    return null;
  }
  const earlier = firstWith(state.episodes, last.evaluations * (1 - SHARE_OF_RATE)) ?? last;
  const seconds = last.elapsedSeconds - earlier.elapsedSeconds;
  const evaluations = last.evaluations - earlier.evaluations;
  const ofEvaluations = evaluations > 0 ? ((budget.evaluations - last.evaluations) * seconds) / evaluations : Infinity;
  const ofSeconds = budget.seconds === null ? Infinity : budget.seconds - last.elapsedSeconds;
  const left = Math.min(ofEvaluations, ofSeconds);
  return Number.isFinite(left) ? Math.max(0, left) : null;
}

/**
 * The first episode after `evaluations`, found by halving.
 *
 * @param {import("../ui/growing-list.js").GrowingList<import("./run-state.js").Episode>} episodes in order
 * @param {number} evaluations
 */
function firstWith(episodes, evaluations) {
  let [low, high] = [0, episodes.length - 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((episodes.at(middle)?.evaluations ?? 0) < evaluations) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return episodes.at(low);
}
