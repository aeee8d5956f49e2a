/** The placements that the shown one can be compared with: `KnownPlacement`s, by their tokens. */

import { indexOfEpisode, placementOfToken } from "../run/placements.js";
import { formatCount, formatTime } from "../ui/format.js";
import { getJson } from "../ui/server.js";

/** @typedef {import("../run/run-state.js").RunState} RunState */
/** @typedef {import("../run/placements.js").KnownPlacement} KnownPlacement */

/**
 * @typedef {object} OtherRun a line of `others.json`
 * @property {string} id
 * @property {string} method
 * @property {string} label of its method
 * @property {number} seed
 * @property {number | null} step_time_us
 *
 * @typedef {object} KeptPlacement a line of `placements.json`
 * @property {string} id
 * @property {string} name untrusted text
 * @property {number} step_time_us
 * @property {number} missing_bytes
 * @property {{ json: string, explanation: string }} urls
 *
 * @typedef {KeptPlacement & { device_of_group: number[] }} WholePlacement
 * @typedef {{ token: string, words: string }} Option
 * @typedef {{ label: string, options: Option[] }} OptionGroup
 */

const NOT_STORED =
  "The version that made this run did not store the placements of its baselines. Start the run again to compare with them.";

/**
 * What a person can choose from; episodes by number come beside it.
 *
 * @param {RunState} state
 * @param {readonly OtherRun[]} others
 * @param {readonly KeptPlacement[]} kept
 * @param {Record<string, string>} methodLabels method → label
 * @returns {OptionGroup[]} those without an option are left out
 */
export function optionsOf(state, others, kept, methodLabels) {
  const best = placementOfToken("best", state, methodLabels);
  const groups = [
    { label: "This run", options: best ? [{ token: "best", words: `Best, ${formatTime(best.stepTimeUs)}` }] : [] },
    {
      label: "Baselines",
      options: state.baselines
        .filter(({ step_time_us: us }) => us !== null)
        .map(({ method, step_time_us: us }) => ({
          token: `baseline-${method}`,
          words: `${methodLabels[method] ?? method}, ${formatTime(us)}`,
        })),
    },
    {
      label: "Kept placements",
      options: kept.map(({ id, name, step_time_us: us }) => ({ token: `placement-${id}`, words: `${name}, ${formatTime(us)}` })),
    },
    {
      label: "Other runs of this graph",
      options: others.map((run) => ({ token: `run-${run.id}`, words: `${run.label}, seed ${run.seed}, ${formatTime(run.step_time_us)}` })),
    },
  ];
  return groups.filter(({ options }) => options.length > 0);
}

/**
 * Why this run has no placement of that token.
 *
 * @param {string} token
 * @param {RunState} state
 * @returns {string}
 */
export function problemOf(token, state) {
  const [, kind, name] = /^([a-z]+)-?(.*)$/.exec(token) ?? [];
  switch (kind) {
    case "best":
      return "This run has found no placement that fits in memory yet.";
    case "episode": {
      const last = state.episodes.last?.episode ?? 0;
      if (/^\d{1,9}$/.test(name) && Number(name) <= last && indexOfEpisode(state, Number(name)) < 0) {
        return `Episode ${formatCount(Number(name))} is not stored: of this run some episodes are left out.`;
      }
      return last > 0 ? `Choose an episode from 1 to ${formatCount(last)}.` : "This run has no episodes yet.";
    }
    case "baseline": {
      const event = state.baselines.find(({ method }) => method === name);
      if (!event) {
        return "This run has no such baseline.";
      }
      return event.note ? `This baseline has no placement: ${event.note}.` : NOT_STORED;
    }
    case "hand":
      return "A placement by hand that was not kept lives only as long as its page. Choose another one.";
    default:
      return "There is no such placement to compare with.";
  }
}

/**
 * @param {string} token
 * @param {OtherRun & { placement: number[] }} run
 * @returns {KnownPlacement}
 */
export function ofRun(token, run) {
  return {
    token,
    words: `the best of ${run.label}, seed ${run.seed}`,
    placement: run.placement,
    stepTimeUs: run.step_time_us,
    feasible: true,
    key: token,
    explanation: "",
    episodeIndex: -1,
  };
}

/**
 * @param {string} token
 * @param {WholePlacement} kept
 * @returns {KnownPlacement}
 */
export function ofKept(token, kept) {
  return {
    token,
    words: `“${kept.name}”`,
    placement: kept.device_of_group,
    stepTimeUs: kept.step_time_us,
    feasible: kept.missing_bytes === 0,
    key: token,
    explanation: kept.urls.explanation,
    episodeIndex: -1,
  };
}

/**
 * The placement of a token that the run itself does not have: the best of another run, or a kept one.
 *
 * @param {string} token
 * @param {{ others: string, kept: string }} addresses of `others.json` and `placements.json`
 * @returns {Promise<KnownPlacement | null>} null: this graph has no such placement on this cluster
 */
export async function loadReference(token, { others, kept }) {
  const [, kind, id] = /^(run|placement)-([0-9a-f-]{36})$/.exec(token) ?? [];
  if (kind === "run") {
    return ofRun(token, /** @type {OtherRun & { placement: number[] }} */ (await getJson(others.replace(/\.json$/, `/${id}.json`))));
  }
  const { placements } = /** @type {{ placements: KeptPlacement[] }} */ (kind ? await getJson(kept) : { placements: [] });
  const line = placements.find((placement) => placement.id === id);
  return line ? ofKept(token, /** @type {WholePlacement} */ (await getJson(line.urls.json))) : null;
}
