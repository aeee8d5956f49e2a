/** The contents of the chart of a search for plans, apart from the drawing: its points, ranges and words. */

import { fastest } from "../jobs/plan-state.js";
import { counted, formatBytes, formatPercent, significant } from "../ui/format.js";
import { extent } from "./scale.js";

/**
 * @typedef {import("../jobs/plan-state.js").ToldPlan} ToldPlan
 *
 * @typedef {object} Names what a plan's numbers stand for
 * @property {string[]} devices
 * @property {Record<string, string>} usual name of a usual plan → its words
 *
 * @typedef {object} Point
 * @property {number} bytes the most memory of a device
 * @property {number} rate samples a second
 * @property {"best" | "usual" | "other"} kind
 * @property {string} label empty unless its point is named in the picture
 * @property {string} words
 *
 * @typedef {object} PlanModel
 * @property {Point[]} points by their memory, from the least on
 * @property {readonly [number, number]} bytes
 * @property {readonly [number, number]} rates
 */

const MARGIN = 0.08;
const LEAST_GAP = 0.001;

/**
 * @param {readonly ToldPlan[]} plans
 * @param {Names} names
 * @returns {PlanModel | null} null if there is nothing to show
 */
export function planModel(plans, names) {
  const best = fastest(plans);
  const points = plans.flatMap((plan) => (plan.samples_per_second === null ? [] : [pointOf(plan, names, plan === best)]));
  if (points.length === 0) {
    return null;
  }
  points.sort((one, other) => one.bytes - other.bytes || one.rate - other.rate);
  return {
    points,
    bytes: padded(points.map(({ bytes }) => bytes)),
    rates: padded(points.map(({ rate }) => rate)),
  };
}

/**
 * @param {ToldPlan} plan
 * @param {Names} names
 * @param {boolean} isBest of all
 * @returns {Point}
 */
function pointOf(plan, names, isBest) {
  const rate = plan.samples_per_second ?? 0;
  const usual = plan.usual === null ? "" : (names.usual[plan.usual] ?? plan.usual.replaceAll("_", " "));
  const bytes = Math.max(0, ...plan.peak_bytes);
  const label = [isBest ? "best" : "", usual].filter(Boolean).join(": ");
  const what = [usual, planWords(plan, names.devices)].filter(Boolean).join(": ");
  return {
    bytes,
    rate,
    kind: usual ? "usual" : plan.is_best ? "best" : "other",
    label,
    words: `${rateWords(rate)}, at most ${formatBytes(bytes)} of a device. ${what}`,
  };
}

/**
 * What a plan does in short: `2 replicas: GPU:0 16 × 4, GPU:1 16 × 4`.
 *
 * @param {ToldPlan} plan
 * @param {readonly string[]} devices their names
 * @returns {string} empty for a figure alone
 */
export function planWords({ replicas }, devices) {
  if (replicas.length === 0) {
    return "";
  }
  const larger = [...replicas].sort((one, other) => samplesOf(other) - samplesOf(one));
  const shown = larger.slice(0, 8).map((row) => `${devicesWords(row, devices)} ${row.micro_batches} × ${row.micro_batch}`);
  const more = replicas.length > shown.length ? [`${replicas.length - shown.length} more`] : [];
  return `${counted(replicas.length, "replica")}: ${[...shown, ...more].join(", ")}`;
}

/**
 * @param {import("../jobs/plan-state.js").ReplicaInShort} replica
 * @param {readonly string[]} names of devices
 * @returns {string} `(GPU:0 or GPU:1) + GPU:2` where the former two take a stage in turn
 */
function devicesWords({ devices, turns }, names) {
  const inTurn = new Map(turns.map((set) => [set[0], `(${set.map((device) => names[device]).join(" or ")})`]));
  const later = new Set(turns.flatMap((set) => set.slice(1)));
  const own = devices.filter((device) => !later.has(device));
  return own.map((device) => inTurn.get(device) ?? names[device]).join(" + ");
}

/** @param {import("../jobs/plan-state.js").ReplicaInShort} replica */
function samplesOf({ micro_batch: size, micro_batches: count }) {
  return size * count;
}

/**
 * What has been found so far.
 *
 * @param {readonly ToldPlan[]} plans
 * @param {Names} names
 * @returns {string} empty before the first one
 */
export function soFarWords(plans, names) {
  const best = fastest(plans);
  if (best === undefined) {
    return "";
  }
  const usual = fastest(plans.filter((plan) => plan.usual !== null));
  const ahead = usual === undefined || best.batch_time_us === 0 ? 0 : usual.batch_time_us / best.batch_time_us - 1;
  const words = `So far ${rateWords(best.samples_per_second)}`;
  const does = planWords(best, names.devices);
  if (usual === undefined) {
    return `${words}: ${does}.`;
  }
  return ahead < LEAST_GAP ? `${words}, no more than a usual plan: ${does}.` : `${words}, ${formatPercent(ahead)} more than the best usual plan: ${does}.`;
}

/**
 * @param {number | null} rate
 * @returns {string}
 */
function rateWords(rate) {
  return rate === null ? "any number of samples a second" : `${formatRate(rate)} samples a second`;
}

/**
 * @param {number} rate
 * @returns {string} four digits, or all of a whole number of thousands
 */
export function formatRate(rate) {
  return rate >= 1000 ? Math.round(rate).toLocaleString("en") : significant(rate, 4);
}

/**
 * @param {readonly number[]} values
 * @returns {[number, number]} their range and a little more
 */
function padded(values) {
  const [low, high] = extent(values);
  const margin = Math.max((high - low) * MARGIN, high * 0.02);
  return [Math.max(0, low - margin), high + margin];
}
