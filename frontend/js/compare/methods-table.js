/** All methods on one graph: for each cluster a table with the best run of each method, and the baselines. */

import { element } from "../ui/dom.js";
import { counted, cutName, formatBytes, formatCount, formatDuration, formatGap, formatPercent, formatTime, NOTHING } from "../ui/format.js";
import { SortedTable } from "../ui/sorted-table.js";

/**
 * @typedef {object} MethodRow
 * @property {string} url of the page that opens its placement
 * @property {string} method
 * @property {string} label
 * @property {string} policy untrusted text, empty without one
 * @property {number} runs of which it is the best; 0: a baseline
 * @property {number | null} seed
 * @property {number} evaluations
 * @property {number} step_time_us
 * @property {number[] | null} peak_bytes [devices]
 * @property {number | null} wall_seconds
 *
 * @typedef {object} ClusterRows
 * @property {string} words
 * @property {string} links
 * @property {boolean} drop_devices
 * @property {string[]} devices
 * @property {number | null} one_device_us
 * @property {number | null} lower_bound_us
 * @property {MethodRow[]} rows
 *
 * @typedef {{ clusters: ClusterRows[], other_clusters: number }} Methods the content of `methods.json`
 */

/**
 * @param {HTMLElement} host
 * @param {Methods} methods
 */
export function showMethods(host, { clusters, other_clusters: others }) {
  host.replaceChildren();
  for (const cluster of clusters) {
    const place = element("div");
    host.append(element("h3", {}, clusterTitle(cluster)), place);
    const table = /** @type {SortedTable<MethodRow>} */ (
      new SortedTable(place, {
        caption: `Methods on ${cluster.words}`,
        look: "methods-table",
        columns: columnsOf(cluster),
        keyOf: ({ url, runs }) => `${url} ${runs}`,
        onChoose: ({ url }) => location.assign(url),
        order: { key: "time", descending: false },
      })
    );
    table.show(cluster.rows);
  }
  if (others > 0) {
    host.append(element("p", { class: "hint" }, `${counted(others, "cluster")} used earlier ${others === 1 ? "is" : "are"} left out.`));
  }
}

/** @param {ClusterRows} cluster */
export function clusterTitle({ words, links, drop_devices: dropped }) {
  const parts = [words, links, dropped ? "device placements stored in the file ignored" : ""];
  return parts.filter(Boolean).join(" · ");
}

/**
 * @param {ClusterRows} cluster
 * @returns {import("../ui/sorted-table.js").Column<MethodRow>[]}
 */
export function columnsOf({ devices, one_device_us: oneDeviceUs, lower_bound_us: boundUs }) {
  const gap = (/** @type {MethodRow} */ row) => (oneDeviceUs ? row.step_time_us / oneDeviceUs - 1 : null);
  const above = (/** @type {MethodRow} */ row) => (boundUs ? row.step_time_us / boundUs - 1 : null);
  const peak = (/** @type {MethodRow} */ { peak_bytes: bytes }) => (bytes ? Math.max(...bytes) : null);
  return [
    { key: "method", label: "Method", valueOf: ({ label }) => label, cells: methodCells },
    { key: "time", label: "Step time", numeric: true, valueOf: (row) => row.step_time_us, cells: (row) => [formatTime(row.step_time_us, 4)] },
    { key: "gap", label: "Against one device", numeric: true, valueOf: gap, cells: (row) => [formatGap(gap(row))] },
    { key: "bound", label: "Above the bound", numeric: true, valueOf: above, cells: (row) => [formatPercent(above(row))] },
    {
      key: "peak",
      label: "Memory peak",
      numeric: true,
      valueOf: peak,
      cells: (row) => [row.peak_bytes ? element("span", { title: peakWords(row.peak_bytes, devices) }, formatBytes(peak(row))) : notKnown()],
    },
    { key: "evaluations", label: "Evaluations", numeric: true, valueOf: (row) => row.evaluations, cells: (row) => [formatCount(row.evaluations)] },
    { key: "seconds", label: "Wall time", numeric: true, valueOf: (row) => row.wall_seconds, cells: (row) => [row.wall_seconds === null ? notKnown() : formatDuration(row.wall_seconds)] },
    { key: "seed", label: "Seed", numeric: true, valueOf: (row) => row.seed, cells: (row) => [row.seed === null ? NOTHING : String(row.seed)] },
  ];
}

/**
 * @param {readonly number[]} bytes [devices]
 * @param {readonly string[]} devices names
 */
function peakWords(bytes, devices) {
  return bytes.map((peak, device) => `${devices[device]}: ${formatBytes(peak)}`).join("\n");
}

/** What events of an earlier version, and runs without a report, do not say. */
function notKnown() {
  return element("span", { class: "muted" }, "not known");
}

/** @param {MethodRow} row */
function methodCells({ url, label, policy, runs }) {
  const words = runs === 0 ? "baseline" : runs === 1 ? "" : `best of ${formatCount(runs)} runs`;
  const notes = [policy ? `with ${cutName(policy, 40)}` : "", words].filter(Boolean).join(", ");
  return [element("a", { href: url }, label), ...(notes ? [element("span", { class: "muted" }, ` ${notes}`)] : [])];
}
