/** The kept placements that the page of a run can show: those of its graph on its cluster. */

import { getJson, post, postFile } from "../ui/server.js";

/** @typedef {import("./placements.js").KnownPlacement} KnownPlacement */

/**
 * @typedef {object} KeptPlacement as `placements.json` has it
 * @property {string} id
 * @property {string} name untrusted text
 * @property {"hand" | "run" | "upload"} origin
 * @property {string | null} run
 * @property {number | null} run_seq
 * @property {number} step_time_us
 * @property {number} missing_bytes
 * @property {number} split_groups groups that are on several devices
 * @property {string} created_at
 * @property {{ json: string, explanation: string, rename: string, delete: string, downloads: Record<string, string> }} urls
 *
 * @typedef {KeptPlacement & { device_of_group: number[], locked_groups: number[] }} WholePlacement
 */

export class KeptPlacements {
  #runId;
  #onChange;
  /** @type {readonly KeptPlacement[]} the newest first */
  rows = [];
  /** By token, once they were asked for. @type {Map<string, WholePlacement>} */
  #whole = new Map();
  /** @type {Set<string>} tokens */
  #loading = new Set();
  /** Of placements that the server does not have. @type {Set<string>} tokens */
  #missing = new Set();

  /**
   * @param {string | undefined} runId of the run whose page it is; a page that a secret link opens does not name it
   * @param {() => void} onChange called when the list or what is known of a placement has changed
   */
  constructor(runId, onChange) {
    this.#runId = runId;
    this.#onChange = onChange;
  }

  async load() {
    const { placements } = /** @type {{ placements: KeptPlacement[] }} */ (await getJson("placements.json"));
    this.rows = placements;
    this.#onChange();
  }

  /**
   * A kept placement, which is asked for if it is not known yet.
   *
   * @param {string} token
   * @returns {KnownPlacement | null}
   */
  known(token) {
    const whole = this.#whole.get(token);
    if (whole) {
      return knownOf(whole);
    }
    if (isKeptToken(token) && !this.#loading.has(token) && !this.#missing.has(token)) {
      this.#loading.add(token);
      this.#loadWhole(token);
    }
    return null;
  }

  /**
   * @param {string} token
   * @returns {boolean} whether it may become known
   */
  isLoading(token) {
    return this.#loading.has(token) && !this.#whole.has(token);
  }

  /**
   * @param {string} token
   * @returns {readonly number[]}
   */
  lockedGroups(token) {
    return this.#whole.get(token)?.locked_groups ?? [];
  }

  /**
   * @param {Record<string, unknown>} fields as docs/formats.md describes them
   * @returns {Promise<string>} the token of the new placement
   */
  async keep(fields) {
    return this.#added(await post("placements/", fields, "application/json"));
  }

  /**
   * @param {File} file placement JSON
   * @returns {Promise<string>} the token of the new placement
   */
  async upload(file) {
    return this.#added(await postFile("placements/upload", file));
  }

  /**
   * @param {KeptPlacement} row
   * @param {string} name
   */
  async rename(row, name) {
    const answer = await post(row.urls.rename, { name }, "application/json");
    const renamed = /** @type {KeptPlacement} */ (await answer.json());
    this.rows = this.rows.map((each) => (each.id === row.id ? renamed : each));
    const whole = this.#whole.get(tokenOf(row));
    if (whole) {
      this.#whole.set(tokenOf(row), { ...whole, name: renamed.name });
    }
    this.#onChange();
  }

  /** @param {KeptPlacement} row */
  async delete(row) {
    await post(row.urls.delete, {}, "application/json");
    this.rows = this.rows.filter((each) => each.id !== row.id);
    this.#onChange();
  }

  /** @param {Response} answer with the new row */
  async #added(answer) {
    const row = /** @type {KeptPlacement} */ (await answer.json());
    this.rows = [row, ...this.rows];
    this.#onChange();
    return tokenOf(row);
  }

  /** @param {string} token */
  async #loadWhole(token) {
    try {
      const run = this.#runId ? `?run=${this.#runId}` : "";
      const address = `/placements/${token.slice("placement-".length)}/placement${run}`;
      this.#whole.set(token, /** @type {WholePlacement} */ (await getJson(address)));
    } catch {
      this.#missing.add(token); // it does not exist, not any more, or it is of another graph or cluster
    } finally {
      this.#loading.delete(token);
    }
    this.#onChange();
  }
}

/**
 * @param {KeptPlacement} row
 * @returns {string}
 */
export function tokenOf(row) {
  return `placement-${row.id}`;
}

/** @param {string} token */
export function isKeptToken(token) {
  return /^placement-[\da-f-]{36}$/.test(token);
}

/**
 * @param {WholePlacement} whole
 * @returns {KnownPlacement}
 */
export function knownOf(whole) {
  return {
    token: tokenOf(whole),
    name: whole.name,
    words: `kept placement “${whole.name}”`,
    placement: Int16Array.from(whole.device_of_group),
    stepTimeUs: whole.step_time_us,
    feasible: whole.missing_bytes === 0,
    key: whole.id,
    explanation: whole.urls.explanation,
    episodeIndex: -1,
    base: whole.id,
  };
}
