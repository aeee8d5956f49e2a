/**
 * One simulated step of a placed graph, as the server sends it: arrays of ops, transfers, waits and memory.
 *
 * An activity is an op (its index) or a transfer (the number of ops + its index).
 */

import { readArrays } from "../ui/tensor-file.js";

const KNOWN_VERSION = 1;
/** Stands for no activity. */
export const NONE = -1;

/**
 * @typedef {object} OpNames the content of `ops.json`
 * @property {string[]} names untrusted text
 * @property {string[]} [short_names] [ops] what people are shown of them; an older version did not send it
 * @property {string[]} types untrusted text
 * @property {number[]} groups [ops]
 *
 * @typedef {object} PeakText
 * @property {number} time_us
 * @property {number} bytes
 * @property {number[]} bytes_of_class
 * @property {number} holdings how many there are; the largest are sent
 *
 * @typedef {object} StepTexts
 * @property {number} version
 * @property {number} step_time_us
 * @property {number} lower_bound_us the largest of `bounds_us`
 * @property {Record<"path" | "work" | "memory", number>} bounds_us
 * @property {string[]} devices
 * @property {number[]} memory_bytes [devices]
 * @property {number[]} busy_us [devices]
 * @property {number[]} rest_us [devices]
 * @property {number[]} sending_us [devices] time of transfers that keep a device from computing
 * @property {"bus" | "pair" | "none" | "sender" | "host"} contention
 * @property {string[]} causes of segments of the critical chain
 * @property {number[]} cause_us their times, which add up to the step
 * @property {string[]} idle_causes
 * @property {string[]} byte_classes
 * @property {PeakText[]} peaks [devices]
 */

export class Step {
  #arrays;

  /**
   * @param {ArrayBuffer} buffer in the safetensors format
   */
  constructor(buffer) {
    const { texts, arrays } = readArrays(buffer, KNOWN_VERSION);
    this.#arrays = arrays;
    /** @type {StepTexts} */
    this.texts = texts;
    this.opCount = this.array("op.device").length;
    this.transferCount = this.array("transfer.op").length;
    this.stepTimeUs = texts.step_time_us;
    this.isCritical = new Uint8Array(this.opCount + this.transferCount);
    for (const activity of this.array("chain.activity")) {
      this.isCritical[activity] = 1;
    }
  }

  /** @returns {boolean} whether every device's memory is large enough */
  get feasible() {
    return this.texts.peaks.every(({ bytes }, device) => bytes <= this.texts.memory_bytes[device]);
  }

  /**
   * @param {string} name
   * @returns {import("../ui/tensor-file.js").NumberArray}
   */
  array(name) {
    const found = this.#arrays.get(name);
    if (!found) {
      throw new Error(`the step has no ${name}`);
    }
    return found;
  }

  /**
   * The pairs of ops with an edge and two devices. Browsers keep answers of an older version for a day,
   * which have none.
   *
   * @returns {{ source: number, target: number, bytes: number }[]}
   */
  get cuts() {
    const [source, target, bytes] = ["source", "target", "bytes"].map((name) => this.#arrays.get(`cut.${name}`) ?? []);
    return Array.from(source, (op, index) => ({ source: op, target: target[index], bytes: bytes[index] }));
  }

  /** @param {number} activity */
  isTransfer(activity) {
    return activity >= this.opCount;
  }

  /**
   * @param {number} activity
   * @returns {[number, number]} when it begins and ends, in µs
   */
  span(activity) {
    const [kind, index] = this.#place(activity);
    return [this.array(`${kind}.start_us`)[index], this.array(`${kind}.end_us`)[index]];
  }

  /**
   * @param {number} activity
   * @returns {number} how long it takes, in µs
   */
  timeOf(activity) {
    const [start, end] = this.span(activity);
    return end - start;
  }

  /**
   * @param {number} activity
   * @returns {number} the op, or the op whose output the transfer sends
   */
  opOf(activity) {
    return this.isTransfer(activity) ? this.array("transfer.op")[activity - this.opCount] : activity;
  }

  /**
   * @param {number} activity
   * @returns {number} what decided its start, or `NONE`
   */
  awaited(activity) {
    return this.array("waited_for")[activity];
  }

  /**
   * @param {number} transfer an index of transfers
   * @returns {number[]} the devices that it brings its bytes to
   */
  destinations(transfer) {
    const first = this.array("transfer.first_destination");
    return [...this.array("transfer.destinations").slice(first[transfer], first[transfer + 1])];
  }

  /**
   * @param {number} device
   * @returns {{ timeUs: Float64Array, bytes: Float64Array }} its memory, constant from each time to the next
   */
  memory(device) {
    const first = this.array("memory.first");
    const [from, to] = [first[device], first[device + 1]];
    return {
      timeUs: /** @type {Float64Array} */ (this.array("memory.time_us").subarray(from, to)),
      bytes: /** @type {Float64Array} */ (this.array("memory.bytes").subarray(from, to)),
    };
  }

  /**
   * @param {number} activity
   * @returns {["op" | "transfer", number]}
   */
  #place(activity) {
    return this.isTransfer(activity) ? ["transfer", activity - this.opCount] : ["op", activity];
  }
}
