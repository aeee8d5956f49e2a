/** The placements of a run that have a token (`view.js`): its episodes, its baselines, and those that are kept. */

import { formatCount } from "../ui/format.js";

/** @typedef {import("./run-state.js").RunState} RunState */

/**
 * @typedef {object} KnownPlacement
 * @property {string} token
 * @property {string} words such as `episode 17`
 * @property {ArrayLike<number>} placement [groups] device of each group, `SPLIT` of `graph/colouring.js` for one on several
 * @property {number | null} stepTimeUs null: not known yet
 * @property {boolean} feasible
 * @property {string} key equal for equal placements
 * @property {string} explanation address of its explanation, from the page; empty: to be asked for by the placement
 * @property {number} episodeIndex in the list of episodes, -1 for another placement
 * @property {string} [name] at the beginning of a sentence: that of a kept placement, or another one than `words`
 * @property {string} base what requests name where they leave groups on several devices as they are in this placement
 * @property {number} [levelGroups] of an episode of a search through levels: how many groups the level has where it was found
 */

/**
 * The placement of a token.
 *
 * @param {string} token
 * @param {RunState} state
 * @param {Record<string, string>} methodLabels method → label
 * @param {{ known: (token: string) => KnownPlacement | null }} [kept]
 * @returns {KnownPlacement | null} null: the run has no such placement, or not yet
 */
export function placementOfToken(token, state, methodLabels, kept = { known: () => null }) {
  const [kind, ...rest] = token.split("-");
  const name = rest.join("-");
  switch (kind) {
    case "best":
      return answerOf(state) ?? episodeAt(state, state.bestIndex);
    case "simplest":
      return simplestOf(state);
    case "live":
      return episodeAt(state, state.episodes.length - 1);
    case "episode":
      return /^\d{1,9}$/.test(name) ? episodeAt(state, indexOfEpisode(state, Number(name))) : null;
    case "baseline":
      return baselineOf(state, name, methodLabels);
    case "placement":
      return kept.known(token);
    default:
      return null;
  }
}

/**
 * The run's answer, where it is no episode: a trivial placement that the method could not beat; of a stream always, since
 * whole batches choose it, and not the periods of episodes.
 *
 * @param {RunState} state
 * @returns {KnownPlacement | null}
 */
function answerOf({ report, reportSeq, bestUs }) {
  const isOfStream = report?.stream !== undefined;
  if (!report?.feasible || report.step_time_us === null || (!isOfStream && report.step_time_us >= bestUs)) {
    return null;
  }
  return {
    token: "best",
    words: isOfStream ? "the placement with the shortest batch" : "the best placement",
    placement: Int16Array.from(report.device_of_group),
    stepTimeUs: report.step_time_us,
    feasible: true,
    key: "answer",
    explanation: isOfStream ? `explanations/${reportSeq}` : "",
    episodeIndex: -1,
    base: eventBase(reportSeq),
  };
}

/**
 * @param {RunState} state
 * @returns {KnownPlacement | null} the simplest placement near the answer; null before the run has ended
 */
function simplestOf({ report }) {
  const simplest = report?.simplest;
  if (!simplest) {
    return null;
  }
  return {
    token: "simplest",
    words: "the simplest placement",
    name: "Simplest placement",
    placement: Int16Array.from(simplest.device_of_group),
    stepTimeUs: simplest.step_time_us,
    feasible: true,
    key: "simplest",
    explanation: "",
    episodeIndex: -1,
    base: "simplest",
  };
}

/**
 * @param {RunState} state
 * @param {number} index in the list of episodes
 * @returns {KnownPlacement | null}
 */
export function episodeAt(state, index) {
  const episode = index >= 0 ? state.episodes.at(index) : undefined;
  return (
    episode && {
      token: `episode-${episode.episode}`,
      words: `episode ${formatCount(episode.episode)}`,
      placement: episode.placement,
      stepTimeUs: episode.stepTimeUs,
      feasible: episode.feasible,
      key: String(episode.seq),
      explanation: `explanations/${episode.seq}`,
      episodeIndex: index,
      base: eventBase(episode.seq),
      ...(state.started?.levels?.length && episode.levelGroups !== null ? { levelGroups: episode.levelGroups } : {}),
    }
  ) ?? null;
}

/**
 * A placement as requests have it.
 *
 * @param {ArrayLike<number>} placement [groups] made of the one that `base` names
 * @param {string} base
 * @returns {{ placement: number[], base: string }}
 */
export function fieldsOf(placement, base) {
  return { placement: Array.from(placement), base };
}

/** @param {number} seq of an event with a placement */
function eventBase(seq) {
  return `event-${seq}`;
}

/**
 * @param {RunState} state
 * @param {number} number of an episode; those of a thinned run have gaps
 * @returns {number} its index, -1 if the run does not have it
 */
export function indexOfEpisode({ episodes }, number) {
  let [low, high] = [0, episodes.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (/** @type {import("./run-state.js").Episode} */ (episodes.at(middle)).episode < number) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return episodes.at(low)?.episode === number ? low : -1;
}

/**
 * @param {RunState} state
 * @param {string} method
 * @param {Record<string, string>} methodLabels
 * @returns {KnownPlacement | null}
 */
function baselineOf({ baselines }, method, methodLabels) {
  const event = baselines.find((baseline) => baseline.method === method);
  if (!event?.placement || event.step_time_us === null) {
    return null;
  }
  return {
    token: `baseline-${method}`,
    words: methodLabels[method] ?? method,
    placement: Int16Array.from(event.placement),
    stepTimeUs: event.step_time_us,
    feasible: true,
    key: String(event.seq),
    explanation: `explanations/${event.seq}`,
    episodeIndex: -1,
    base: eventBase(event.seq),
  };
}

export const ONE_DEVICE = "one device";

/** Baselines that are too weak to be compared with in a sentence, beside one device. */
const WEAK = new Set(["single_device", "cpu_only", "random"]);

/**
 * With what a placement is compared in a sentence: one device, and the fastest of the methods evaluated beside the run,
 * where it is faster than that.
 *
 * @param {RunState} state
 * @param {Record<string, string>} methodLabels method → label
 * @param {string} shown token of the placement itself
 * @returns {{ words: string, stepTimeUs: number }[]}
 */
export function rivalsOf({ baselines }, methodLabels, shown) {
  const others = baselines.flatMap(({ method, step_time_us: stepTimeUs }) =>
    stepTimeUs === null || shown === `baseline-${method}` ? [] : [{ method, stepTimeUs }],
  );
  const single = others.filter(({ method }) => method === "single_device");
  const [best] = others.filter(({ method }) => !WEAK.has(method)).sort((one, other) => one.stepTimeUs - other.stepTimeUs);
  return [
    ...single.map(({ stepTimeUs }) => ({ words: ONE_DEVICE, stepTimeUs })),
    ...(best && single.every(({ stepTimeUs }) => best.stepTimeUs < stepTimeUs) ? [{ words: methodLabels[best.method] ?? best.method, stepTimeUs: best.stepTimeUs }] : []),
  ];
}
