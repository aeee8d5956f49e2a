/** What the costs of a graph's ops say of each node of its drawing. Pure. */

/**
 * @param {import("../ui/contracts.js").OpCosts} costs
 * @param {ArrayLike<number>} nodeOfOp [ops] -1: in none of the nodes
 * @param {number} count of nodes
 * @returns {import("./colouring.js").CostFacts}
 */
export function costFacts(costs, nodeOfOp, count) {
  const needsCpu = new Uint8Array(count);
  for (const op of costs.cpu_only) {
    if (nodeOfOp[op] >= 0) {
      needsCpu[nodeOfOp[op]] = 1;
    }
  }
  const kinds = costs.sources.length;
  const ops = new Uint32Array(count * kinds);
  costs.source.forEach((source, op) => {
    if (nodeOfOp[op] >= 0) {
      ops[nodeOfOp[op] * kinds + source] += 1;
    }
  });
  const sourceOf = Int8Array.from({ length: count }, (_, node) => mostOf(ops.subarray(node * kinds, (node + 1) * kinds)));
  return { sources: costs.sources, sourceOf, needsCpu };
}

/**
 * @param {Uint32Array} counts
 * @returns {number} the index of the first of the largest; -1 where all are 0
 */
function mostOf(counts) {
  const most = counts.reduce((one, other) => Math.max(one, other), 0);
  return most === 0 ? -1 : counts.indexOf(most);
}
