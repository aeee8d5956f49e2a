/** The placements that the shown one can be compared with: `KnownPlacement`s, by their tokens. */

import { indexOfEpisode, placementOfToken } from "../run/placements.js";
import { MovesError, partsOfToken, trialOf } from "../run/moves.js";
import { placementOf } from "../run/trial.js";
import { counted, cutName, formatCount } from "../ui/format.js";
import { getJson, isGone } from "../ui/server.js";

/** @typedef {import("../run/run-state.js").RunState} RunState */
/** @typedef {import("../run/placements.js").KnownPlacement} KnownPlacement */

/**
 * @typedef {object} OtherRun a line of `others.json`
 * @property {string} id
 * @property {string} method
 * @property {string} label of its method
 * @property {string} name that a person gave it, untrusted text; empty: none
 * @property {number} seed
 * @property {number | null} step_time_us
 */

const NOT_STORED =
  "The version that made this run did not store the placements of its baselines. Start the run again to compare with them.";
const NO_SUCH_PLACEMENT = "This graph has no such placement on this cluster, or it has been deleted.";

export class References {
  #address;
  #devices;
  #methodLabels;
  #kept;
  #onChange;
  /** @type {readonly OtherRun[]} the other runs of this graph */
  others = [];
  /** The best of another run, by its token; null: on its way. @type {Map<string, KnownPlacement | null>} */
  #ofRuns = new Map();
  /** Why the best of another run is not here, by its token. @type {Map<string, string>} */
  #problems = new Map();

  /**
   * @param {string} address of `others.json`; empty: a page that shows its run alone
   * @param {number} devices how many the cluster has
   * @param {Record<string, string>} methodLabels method → label
   * @param {import("../run/kept-placements.js").KeptPlacements} kept
   * @param {() => void} onChange called when the list of other runs has come, or the placement of one
   */
  constructor(address, devices, methodLabels, kept, onChange) {
    this.#address = address;
    this.#devices = devices;
    this.#methodLabels = methodLabels;
    this.#kept = kept;
    this.#onChange = onChange;
  }

  /** Ask for the other runs of this graph. Throws ServerError. */
  async loadOthers() {
    if (this.#address) {
      this.others = /** @type {{ runs: OtherRun[] }} */ (await getJson(this.#address)).runs;
      this.#onChange();
    }
  }

  /**
   * The placement of a token; one that the run itself does not have is asked for.
   *
   * @param {string} token
   * @param {RunState} state
   * @returns {KnownPlacement | null}
   */
  known(token, state) {
    const { base, moves } = partsOfToken(token);
    if (moves) {
      const known = this.known(base, state);
      return known && this.#byHand(known, token, moves);
    }
    if (!isRunToken(token)) {
      return placementOfToken(token, state, this.#methodLabels, this.#kept);
    }
    if (!this.#ofRuns.has(token)) {
      this.#ofRuns.set(token, null);
      this.#loadRun(token);
    }
    return this.#ofRuns.get(token) ?? null;
  }

  /** @param {string} token whose placement is asked for again, if it could not be had */
  retry(token) {
    if (this.#problems.delete(token)) {
      this.#ofRuns.delete(token);
    }
  }

  /**
   * @param {string} token of a placement that is not known
   * @returns {boolean} whether it may become known
   */
  isLoading(token) {
    const { base } = partsOfToken(token);
    return isRunToken(base) ? !this.#problems.has(base) : this.#kept.isLoading(base);
  }

  /**
   * Why there is no placement of that token.
   *
   * @param {string} token
   * @param {RunState} state
   * @returns {string}
   */
  problemOf(token, state) {
    const { base } = partsOfToken(token);
    return this.#problems.get(token) ?? this.#problems.get(base) ?? problemOf(base, state);
  }

  /**
   * @param {KnownPlacement} from the placement that the moves are made from
   * @param {string} token
   * @param {string} moves text of the token
   * @returns {KnownPlacement | null}
   */
  #byHand(from, token, moves) {
    try {
      const trial = trialOf(from.placement, moves, this.#devices);
      const unknown = { stepTimeUs: null, feasible: true, explanation: "", episodeIndex: -1 };
      const words = `${from.words} with ${counted(trial.moves.length, "move")} by hand`;
      return { token, key: `${from.key} ${moves}`, words, placement: Array.from(placementOf(trial)), base: from.base, ...unknown };
    } catch (error) {
      if (!(error instanceof MovesError)) {
        throw error;
      }
      this.#problems.set(token, error.message);
      return null;
    }
  }

  /** @param {string} token of another run's best placement */
  async #loadRun(token) {
    const address = this.#address.replace(/\.json$/, `/${token.slice("run-".length)}.json`);
    try {
      this.#ofRuns.set(token, ofRun(token, /** @type {OtherRun & { placement: number[] }} */ (await getJson(address))));
    } catch (error) {
      const isMissing = isGone(error) || !(error instanceof Error);
      this.#problems.set(token, isMissing ? NO_SUCH_PLACEMENT : error.message);
    }
    this.#onChange();
  }
}

/** @param {string} token */
function isRunToken(token) {
  return /^run-[0-9a-f-]{36}$/.test(token);
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
    case "run":
    case "placement":
      return NO_SUCH_PLACEMENT;
    default:
      return "There is no such placement to compare with.";
  }
}

/**
 * @param {OtherRun} run
 * @returns {string} its name and what it is: `Night shift (Placeto, seed 0)`
 */
export function otherWords({ name, label, seed }) {
  const usual = `${label}, seed ${seed}`;
  return name ? `${cutName(name, 60)} (${usual})` : usual;
}

/**
 * @param {string} token
 * @param {OtherRun & { placement: number[] }} run
 * @returns {KnownPlacement}
 */
export function ofRun(token, run) {
  return {
    token,
    words: `the best of ${otherWords(run)}`,
    placement: run.placement,
    stepTimeUs: run.step_time_us,
    feasible: true,
    key: token,
    explanation: "",
    episodeIndex: -1,
    base: token,
  };
}
