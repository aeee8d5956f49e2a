/** The edges between the blocks and ops that are seen: one for each pair, with the bytes of all edges in it. Pure. */

/** @typedef {import("./block-graph.js").BlockGraph} BlockGraph */

/**
 * @typedef {object} Bundles
 * @property {Int32Array} source [bundles] a leaf
 * @property {Int32Array} target [bundles] a leaf
 * @property {Float64Array} bytes [bundles] in a step; an output that several ops of a leaf take counts once
 * @property {Int32Array} bundleOf [edges] −1: inside a leaf
 */

/**
 * @param {BlockGraph} graph
 * @param {Int32Array} leafOf [ops]
 * @param {number} leaves how many
 * @returns {Bundles}
 */
export function bundlesOf(graph, leafOf, leaves) {
  const { source, target } = graph;
  /** @type {Map<number, number>} */
  const numberOf = new Map();
  const bundleOf = new Int32Array(source.length).fill(-1);
  for (let edge = 0; edge < source.length; edge += 1) {
    const [from, to] = [leafOf[source[edge]], leafOf[target[edge]]];
    if (from !== to && from >= 0 && to >= 0) {
      const key = from * leaves + to;
      let bundle = numberOf.get(key);
      if (bundle === undefined) {
        bundle = numberOf.size;
        numberOf.set(key, bundle);
      }
      bundleOf[edge] = bundle;
    }
  }
  const keys = [...numberOf.keys()];
  const bytes = bundledBytes(graph, bundleOf, keys.length, null);
  return { source: Int32Array.from(keys, (key) => Math.floor(key / leaves)), target: Int32Array.from(keys, (key) => key % leaves), bytes, bundleOf };
}

/**
 * The bytes of each bundle that go from one device to another.
 *
 * @param {BlockGraph} graph
 * @param {Bundles} bundles
 * @param {ArrayLike<number>} deviceOf [ops] below 0: not known
 * @returns {Float64Array} [bundles] −1: no edge of it does
 */
export function crossingBytes(graph, { bundleOf, bytes }, deviceOf) {
  return bundledBytes(graph, bundleOf, bytes.length, deviceOf);
}

/**
 * @param {BlockGraph} graph
 * @param {Int32Array} bundleOf [edges]
 * @param {number} count of bundles
 * @param {ArrayLike<number> | null} deviceOf [ops] null: all edges count, not those between devices alone
 * @returns {Float64Array} [bundles] −1: no edge of it counts
 */
function bundledBytes({ source, target, output, bytes }, bundleOf, count, deviceOf) {
  const sums = new Float64Array(count).fill(deviceOf ? -1 : 0);
  const lastOutput = new Int32Array(count).fill(-1);
  const counted = new Float64Array(count);
  for (let edge = 0; edge < source.length; edge += 1) {
    const bundle = bundleOf[edge];
    if (bundle < 0 || (deviceOf && (deviceOf[source[edge]] === deviceOf[target[edge]] || output[edge] < 0))) {
      continue;
    }
    sums[bundle] = Math.max(0, sums[bundle]);
    if (output[edge] < 0) {
      continue; // a control edge
    }
    if (lastOutput[bundle] !== output[edge]) {
      lastOutput[bundle] = output[edge];
      counted[bundle] = 0;
    }
    if (bytes[edge] > counted[bundle]) {
      sums[bundle] += bytes[edge] - counted[bundle];
      counted[bundle] = bytes[edge];
    }
  }
  return sums;
}
