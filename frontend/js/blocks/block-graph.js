/** The ops of a graph in the order of its blocks, with their times and edges: arrays, as the server sends them. */

import { readArrays } from "../ui/tensor-file.js";

const KNOWN_VERSION = 1;

export class BlockGraph {
  /** @param {ArrayBuffer} buffer in the safetensors format */
  constructor(buffer) {
    const { texts, arrays } = readArrays(buffer, KNOWN_VERSION);
    const array = (/** @type {string} */ name) => /** @type {import("../ui/tensor-file.js").NumberArray} */ (arrays.get(name));
    /** [ops] the ops of each block are next to each other */
    this.order = array("tree.order");
    /** [ops] */
    this.group = array("op.group");
    /** [edges] */
    this.source = array("edge.source");
    /** [edges] */
    this.target = array("edge.target");
    /** [edges] a number that the edges of one output share, next to each other; −1: a control edge */
    this.output = array("edge.output");
    /** [edges] in a step */
    this.bytes = array("edge.bytes");
    /** @type {readonly string[]} device kinds */
    this.kinds = texts.kinds;
    this.#timeUs = array("op.time_us");
  }

  #timeUs;

  /** How many ops there are. */
  get count() {
    return this.order.length;
  }

  /**
   * @param {string} kind
   * @returns {ArrayLike<number>} [ops] their times in a step on a device of that kind; zeros for an unknown one
   */
  timesOn(kind) {
    const row = this.kinds.indexOf(kind);
    return row < 0 ? new Float32Array(this.count) : this.#timeUs.subarray(row * this.count, (row + 1) * this.count);
  }
}
