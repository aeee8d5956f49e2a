/** A flat drawing as the server sends it: all ops, or all groups, each with its place; and the edges between them. */

import { readArrays } from "../ui/tensor-file.js";

const KNOWN_VERSION = 1;
/** Distances between neighbours that a node of no time and one of the longest time take. */
const LEAST_SHARE = 0.42;
const GREATEST_SHARE = 0.92;

export class FlatGraph {
  /** @param {ArrayBuffer} buffer as docs/formats.md describes it */
  constructor(buffer) {
    const { arrays } = readArrays(buffer, KNOWN_VERSION);
    const array = (/** @type {string} */ name) => {
      const found = arrays.get(name);
      if (!found) {
        throw new Error(`the drawing has no ${name}`);
      }
      return found;
    };
    /** [nodes] distances between neighbours, from the left */
    this.x = array("node.x");
    /** [nodes] from the top */
    this.y = array("node.y");
    /** [nodes] */
    this.group = array("node.group");
    /** [nodes] on the kind of device where it takes longest */
    this.timeUs = array("node.time_us");
    /** [edges] nodes */
    this.source = array("edge.source");
    this.target = array("edge.target");
    /** [edges] sent if the two ends are on two devices */
    this.bytes = array("edge.bytes");
    this.count = this.x.length;
    this.edgeCount = this.source.length;
    this.width = greatest(this.x);
    this.height = greatest(this.y);
    /** [nodes] side or diameter: its area grows with its time */
    this.sizes = sizesOf(this.timeUs);
    /** [edges] 0 to 2: a class of width */
    this.widths = widthsOf(this.bytes);
    this.#edgesOf = edgesByNode(this.count, this.source, this.target);
  }

  #edgesOf;

  /**
   * @param {number} node
   * @returns {Int32Array} its edges
   */
  edgesOf(node) {
    const { first, edges } = this.#edgesOf;
    return edges.subarray(first[node], first[node + 1]);
  }
}

/**
 * @param {ArrayLike<number>} timeUs
 * @returns {Float32Array}
 */
export function sizesOf(timeUs) {
  const longest = Math.max(greatest(timeUs), Number.MIN_VALUE);
  return Float32Array.from(timeUs, (time) => LEAST_SHARE + (GREATEST_SHARE - LEAST_SHARE) * Math.sqrt(time / longest));
}

/**
 * The upper third of the logarithms of all bytes is thick, the middle one is middling; control edges are thin.
 *
 * @param {ArrayLike<number>} bytes
 * @returns {Uint8Array}
 */
export function widthsOf(bytes) {
  const most = Math.log1p(Math.max(1, greatest(bytes)));
  return Uint8Array.from(bytes, (size) => Math.min(2, Math.floor((3 * Math.log1p(Math.max(0, size))) / most)));
}

/**
 * @param {number} count of nodes
 * @param {ArrayLike<number>} source
 * @param {ArrayLike<number>} target
 * @returns {{ first: Int32Array, edges: Int32Array }} those of node i are at first[i] to first[i + 1]
 */
export function edgesByNode(count, source, target) {
  const first = new Int32Array(count + 1);
  for (const ends of [source, target]) {
    for (let edge = 0; edge < ends.length; edge += 1) {
      first[ends[edge] + 1] += 1;
    }
  }
  for (let node = 0; node < count; node += 1) {
    first[node + 1] += first[node];
  }
  const next = first.slice();
  const edges = new Int32Array(2 * source.length);
  for (let edge = 0; edge < source.length; edge += 1) {
    edges[next[source[edge]]++] = edge;
    edges[next[target[edge]]++] = edge;
  }
  return { first, edges };
}

/** @param {ArrayLike<number>} values */
function greatest(values) {
  let most = 0;
  for (let index = 0; index < values.length; index += 1) {
    most = Math.max(most, values[index]);
  }
  return most;
}
