/** What a step says of each node of a drawn graph, from what it says of the node's ops. Pure. */

import { SPLIT } from "../graph/colouring.js";

/**
 * @param {import("./step.js").Step} step
 * @param {ArrayLike<number>} nodeOfOp [ops] -1: in none of the nodes
 * @param {number} count of nodes
 * @returns {import("../graph/colouring.js").StepFacts}
 */
export function nodeFacts(step, nodeOfOp, count) {
  /** @type {Set<number>[]} */
  const devicesOf = new Array(count);
  const slackUs = new Float64Array(count).fill(Infinity);
  const peakShare = new Float64Array(count);
  const slack = step.array("op.slack_us");
  const devices = step.array("op.device");
  const share = step.array("op.peak_share");
  for (let op = 0; op < step.opCount; op += 1) {
    const node = nodeOfOp[op];
    if (node >= 0) {
      (devicesOf[node] ??= new Set()).add(devices[op]);
      slackUs[node] = Math.min(slackUs[node], slack[op]);
      peakShare[node] += share[op];
    }
  }
  const deviceOf = Int32Array.from({ length: count }, (_, node) => (devicesOf[node]?.size === 1 ? [...devicesOf[node]][0] : SPLIT));
  /** @type {Map<number, string>} */
  const mixes = new Map();
  devicesOf.forEach((on, node) => on.size > 1 && mixes.set(node, [...on].sort((one, other) => one - other).join(" ")));
  return { deviceOf, mixes, slackUs, chainUs: chainTimes(step, nodeOfOp, count), peakShare };
}

/**
 * The times that the critical chain spends on ops: they run, or wait for a free device.
 *
 * @param {import("./step.js").Step} step
 * @param {ArrayLike<number>} nodeOfOp [ops]
 * @param {number} count
 */
function chainTimes(step, nodeOfOp, count) {
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
