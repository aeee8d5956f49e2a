/** Words for the states of jobs, for several pages. */

import { formatCount } from "../ui/format.js";

export const SERVER_UPDATED = "The server has been updated. Reload the page to see everything.";
export const WAITING = "Waiting for a free worker.";
export const WAITING_TO_GO_ON = "Waiting for its turn, perhaps after another project's job. It then goes on where it was.";
export const UNREACHABLE = "The server cannot be reached, trying again…";

/** @type {Record<string, string>} */
const STATUS_WORDS = {
  asking: "Asking",
  queued: "Queued",
  reading: "Reading",
  ready: "Ready",
  running: "Running",
  done: "Done",
  failed: "Failed",
  cancelled: "Cancelled",
  deleted: "Deleted",
};

/**
 * @param {string} status
 * @returns {string}
 */
export function statusWords(status) {
  return STATUS_WORDS[status] ?? status;
}

/**
 * @param {string} what has been deleted: `policy`
 * @returns {string}
 */
export function deletedWords(what) {
  return `This ${what} has been deleted.`;
}

/**
 * `Estimating costs: 120 of 10,061`.
 *
 * @param {Record<string, unknown>} progress with `stage`, `done`, `total`
 * @returns {string}
 */
export function stageWords({ stage, done, total }) {
  if (typeof stage !== "string" || stage === "") {
    return "";
  }
  return typeof total === "number" && total > 0 ? `${stage}: ${formatCount(Number(done))} of ${formatCount(total)}` : stage;
}
