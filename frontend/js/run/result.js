/** What a run has come to: the verdict, and the fastest placement beside the simplest one that is almost as fast. */

import { counted, formatGap, formatTime } from "../ui/format.js";

/**
 * @typedef {import("../ui/contracts.js").Result} Result
 *
 * @typedef {object} PlacementRow
 * @property {"best" | "simplest"} token
 * @property {string} name
 * @property {string} stepTime
 * @property {string} devices that it uses
 * @property {string} edges between them
 */

/**
 * @param {import("../ui/contracts.js").Report | null} report of the run's last event
 * @param {Result | null} [stored] what the server knew when the page was opened: a cancelled run has no last event
 * @returns {Result | null} null: not known yet, or the run is of a version that did not say it
 */
export function resultOf(report, stored = null) {
  const { step_time_us: stepTimeUs, devices_used: devices, crossing_edges: edges, verdict, simplest } = report ?? {};
  if (stepTimeUs == null || devices === undefined || edges === undefined || !verdict || !simplest) {
    return stored;
  }
  const { device_of_group: _, parts: __, ...figures } = simplest;
  return { step_time_us: stepTimeUs, devices_used: devices, crossing_edges: edges, verdict, prefer: report?.prefer ?? "fastest", simplest: figures, ...(report?.stream ? { stream: report.stream } : {}), ...(report?.proof ? { proof: report.proof } : {}) };
}

/**
 * @param {Result | null} result
 * @returns {boolean} whether the simplest placement is simpler than the fastest one
 */
export function hasTwoPlacements(result) {
  return result !== null && (result.simplest.devices_used !== result.devices_used || result.simplest.crossing_edges !== result.crossing_edges);
}

/**
 * @param {Result | null} result
 * @returns {boolean} whether it is offered first: asked for, or no slower as far as anybody knows
 */
export function isSimplestFirst(result) {
  return hasTwoPlacements(result) && result !== null && (result.prefer !== "fastest" || result.simplest.within_error);
}

/**
 * @param {Result} result
 * @returns {string} what the run's answer is called: that of a weak method may be slower than the simplest placement
 */
export function nameOfBest({ step_time_us: stepTimeUs, simplest, stream }) {
  if (stream) {
    return "Shortest batch";
  }
  return stepTimeUs <= simplest.step_time_us ? "Fastest" : "The method’s own";
}

/**
 * The rows that compare the two, the one to offer first at the top.
 *
 * @param {Result} result of a run with two placements
 * @returns {PlacementRow[]}
 */
export function placementRows(result) {
  const { simplest } = result;
  const rows = [
    row("best", nameOfBest(result), formatTime(result.step_time_us, 4), result),
    row("simplest", "Simplest", `${formatTime(simplest.step_time_us, 4)}, ${formatGap(simplest.step_time_us / result.step_time_us - 1)}`, simplest),
  ];
  return isSimplestFirst(result) ? rows.reverse() : rows;
}

/**
 * @param {"best" | "simplest"} token
 * @param {string} name
 * @param {string} stepTime
 * @param {{ devices_used: number, crossing_edges: number }} counts
 * @returns {PlacementRow}
 */
function row(token, name, stepTime, { devices_used: devices, crossing_edges: edges }) {
  return { token, name, stepTime, devices: counted(devices, "device"), edges: counted(edges, "crossing edge") };
}
