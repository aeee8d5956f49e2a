/** What a step says of each node of a drawn graph, from what it says of the node's ops. Pure. */

import { SPLIT } from "../graph/colouring.js";

/**
 * @param {import("./step.js").Step} step
 * @param {ArrayLike<number>} nodeOfOp [ops] -1: in none of the nodes
 * @param {number} count of nodes
 * @returns {import("../graph/colouring.js").StepFacts}
 */
export function nodeFacts(step, nodeOfOp, count) {
  /** @type {Map<number, import("../graph/colouring.js").Part>[]} device → part */
  const partsOf = new Array(count);
  const slackUs = new Float64Array(count).fill(Infinity);
  const peakShare = new Float64Array(count);
  const slack = step.array("op.slack_us");
  const devices = step.array("op.device");
  const share = step.array("op.peak_share");
  const [start, end] = [step.array("op.start_us"), step.array("op.end_us")];
  for (let op = 0; op < step.opCount; op += 1) {
    const node = nodeOfOp[op];
    if (node >= 0) {
      const parts = (partsOf[node] ??= new Map());
      const part = parts.get(devices[op]) ?? { device: devices[op], ops: 0, timeUs: 0 };
      part.ops += 1;
      part.timeUs += end[op] - start[op];
      parts.set(part.device, part);
      slackUs[node] = Math.min(slackUs[node], slack[op]);
      peakShare[node] += share[op];
    }
  }
  const deviceOf = Int32Array.from({ length: count }, (_, node) => (partsOf[node]?.size === 1 ? [...partsOf[node].keys()][0] : SPLIT));
  /** @type {import("../graph/colouring.js").StepFacts["parts"]} */
  const parts = new Map();
  partsOf.forEach((on, node) => on.size > 1 && parts.set(node, [...on.values()].sort((one, other) => one.device - other.device)));
  const chainUs = chainTimes(step, nodeOfOp, count);
  const cut = parts.size > 0 ? cutPairs(step, nodeOfOp, count) : null;
  return { deviceOf, deviceOfOp: parts.size > 0 ? devices : null, cut, parts, slackUs, chainUs, peakShare };
}

/**
 * The pairs of nodes between which an edge goes from one device to another.
 *
 * @param {import("./step.js").Step} step
 * @param {ArrayLike<number>} nodeOfOp [ops]
 * @param {number} count of nodes
 * @returns {Set<number>} source × `count` + target
 */
function cutPairs(step, nodeOfOp, count) {
  const ends = step.cuts.map(({ source, target }) => [nodeOfOp[source] ?? -1, nodeOfOp[target] ?? -1]);
  return new Set(ends.filter(([from, to]) => from >= 0 && to >= 0).map(([from, to]) => from * count + to));
}

/**
 * The times that the critical chain spends on ops: they run, or wait for a free device.
 *
 * @param {import("./step.js").Step} step
 * @param {ArrayLike<number>} nodeOfOp [ops]
 * @param {number} count
 */
export function chainTimes(step, nodeOfOp, count) {
  const times = new Float64Array(count);
  const [activities, starts, ends] = ["activity", "start_us", "end_us"].map((name) => step.array(`chain.${name}`));
  activities.forEach((activity, segment) => {
    const node = step.isTransfer(activity) ? -1 : nodeOfOp[activity];
    if (node >= 0) {
      times[node] += ends[segment] - starts[segment];
    }
  });
  return times;
}
