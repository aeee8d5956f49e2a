/** Edges that say little and hide much: of constants, learning rates and control, to or from many groups. Pure. */

/** Edges with more bytes are data. */
const MOST_BYTES = 1024;
const LEAST_EDGES = 8;

/**
 * The small edges of each node that has at least eight going out, or at least eight coming in.
 *
 * @param {readonly import("../ui/contracts.js").GroupEdge[]} edges
 * @param {number} count of nodes
 * @returns {{ hidden: Uint8Array, nodes: number[] }} [edges] 1: one of them; the nodes with such fans, the widest first
 */
export function smallFans(edges, count) {
  const outgoing = new Uint32Array(count);
  const incoming = new Uint32Array(count);
  const small = edges.filter(({ bytes }) => bytes <= MOST_BYTES);
  for (const { source, target } of small) {
    outgoing[source] += 1;
    incoming[target] += 1;
  }
  const isFan = (/** @type {import("../ui/contracts.js").GroupEdge} */ { source, target, bytes }) =>
    bytes <= MOST_BYTES && (outgoing[source] >= LEAST_EDGES || incoming[target] >= LEAST_EDGES);
  const widest = (/** @type {number} */ node) => Math.max(outgoing[node], incoming[node]);
  const nodes = Array.from(outgoing.keys()).filter((node) => widest(node) >= LEAST_EDGES);
  return {
    hidden: Uint8Array.from(edges, (edge) => Number(isFan(edge))),
    nodes: nodes.sort((one, other) => widest(other) - widest(one) || one - other),
  };
}
