/** The blocks of a batch as rows of devices, its phases and its words, apart from the drawing. */

import { counted, formatShare, formatTime, listed } from "../ui/format.js";

/**
 * @typedef {object} Block
 * @property {number} device
 * @property {number} stage −1 for the ops of the optimizer
 * @property {boolean} is_backward
 * @property {number} micro from 0
 * @property {number} start_us
 * @property {number} end_us
 *
 * @typedef {object} StreamBatch the content of `blocks.json`, as docs/formats/explanations.md describes it
 * @property {{ micro_batches: number, pipeline: string, contiguous: boolean, recompute?: string, note?: string }} stream
 * @property {string[]} devices
 * @property {number} batch_time_us
 * @property {number} period_us
 * @property {number} fill_end_us
 * @property {number} drain_start_us
 * @property {{ kind: "device" | "link", device: number, to: number | null }} busiest
 * @property {number[][]} phase_busy_us [devices][fill, steady state, drain] how long its ops run
 * @property {number[]} device_load_us [devices]
 * @property {number[]} peak_bytes [devices]
 * @property {number} left_out micro-batches in the middle whose blocks are not told
 * @property {Block[]} blocks
 * @property {import("./batch-memory-model.js").BatchMemory} memory
 *
 * @typedef {object} BatchRow
 * @property {number} device
 * @property {string} mark why it is marked: `busiest`, `busiest link, to GPU 1`; empty: it is not
 * @property {Block[]} blocks in the order in which the device takes them
 *
 * @typedef {object} Phase
 * @property {"fill" | "steady state" | "drain"} name
 * @property {number} startUs
 * @property {number} endUs
 */

const OPTIMIZER = -1;
/** A digit of a label, in pixels, and the room around a label. */
const DIGIT_WIDTH = 7;
const LABEL_ROOM = 4;
/** A smaller share of the batch is not told. */
const LEAST_SAID = 0.01;

/**
 * @param {StreamBatch} batch
 * @param {readonly string[]} labels of devices
 * @returns {BatchRow[]} of the devices that have a block
 */
export function batchRows(batch, labels) {
  return batch.devices.flatMap((_, device) => {
    const own = batch.blocks.filter((block) => block.device === device);
    const blocks = own.sort((one, other) => one.start_us - other.start_us || one.stage - other.stage);
    return blocks.length === 0 ? [] : [{ device, mark: markOf(batch, device, labels), blocks }];
  });
}

/**
 * @param {StreamBatch} batch
 * @param {number} device
 * @param {readonly string[]} labels of devices
 */
function markOf({ busiest }, device, labels) {
  if (busiest.device !== device) {
    return "";
  }
  if (busiest.kind === "device") {
    return "busiest";
  }
  return busiest.to === device || busiest.to === null ? "busiest outgoing bus" : `busiest link, to ${labels[busiest.to]}`;
}

/**
 * @param {StreamBatch} batch
 * @returns {Phase[]} those that take time
 */
export function batchPhases({ fill_end_us: fill, drain_start_us: drain, batch_time_us: end }) {
  /** @type {Phase[]} */
  const phases = [
    { name: "fill", startUs: 0, endUs: fill },
    { name: "steady state", startUs: fill, endUs: drain },
    { name: "drain", startUs: drain, endUs: end },
  ];
  return phases.filter(({ startUs, endUs }) => endUs > startUs);
}

/**
 * @param {StreamBatch} batch
 * @param {number} device
 * @returns {number[]} [fill, steady state, drain] how long the device runs no op, in µs
 */
export function waitsOf({ fill_end_us: fill, drain_start_us: drain, batch_time_us: end, phase_busy_us: busy }, device) {
  return [fill, drain - fill, end - drain].map((us, phase) => Math.max(0, us - busy[device][phase]));
}

/**
 * @param {Block} block
 * @returns {"forward" | "backward" | "optimizer"}
 */
export function passOf({ stage, is_backward: isBackward }) {
  return stage === OPTIMIZER ? "optimizer" : isBackward ? "backward" : "forward";
}

/**
 * @param {Block} block
 * @param {number} width of its span in pixels
 * @returns {string} the number of its micro-batch, from 1; empty where that does not fit, and for the optimizer
 */
export function spanLabel(block, width) {
  const text = block.stage === OPTIMIZER ? "" : String(block.micro + 1);
  return text.length * DIGIT_WIDTH + LABEL_ROOM <= width ? text : "";
}

/**
 * @param {Block} block
 * @returns {string} `Micro-batch 3, backward, stage 2`
 */
export function blockWords(block) {
  const pass = passOf(block);
  return pass === "optimizer" ? "Optimizer" : `Micro-batch ${block.micro + 1}, ${pass}, stage ${block.stage + 1}`;
}

/**
 * @param {StreamBatch} batch
 * @returns {string} when the busiest device idles, as shares of the batch; empty where that is hardly ever
 */
function waitWords(batch) {
  const phases = ["fill", "steady state", "drain"];
  const waits = waitsOf(batch, batch.busiest.device).map((us, phase) => ({ share: us / batch.batch_time_us, name: phases[phase] }));
  const words = waits.filter(({ share }) => share >= LEAST_SAID).map(({ share, name }) => `${formatShare(share)} in the ${name}`);
  return words.length > 0 ? ` and idles ${listed(words)}` : "";
}

/**
 * @param {StreamBatch} batch
 * @param {readonly string[]} labels of devices
 * @returns {string} what the picture shows
 */
export function batchWords(batch, labels) {
  const { stream, batch_time_us: batchUs, period_us: periodUs, left_out: leftOut, busiest, device_load_us: loads } = batch;
  const phases = batchPhases(batch).map(({ name, startUs, endUs }) => `${name} ${formatTime(endUs - startUs)}`);
  const head = `${counted(stream.micro_batches, "micro-batch", "micro-batches")} take ${formatTime(batchUs, 4)}: ${phases.join(", ")}.`;
  const at = labels[busiest.device];
  const device = busiest.kind === "device" ? ` ${at} is busiest: it works ${formatShare((loads[busiest.device] * stream.micro_batches) / batchUs)} of the batch${waitWords(batch)}.` : "";
  const link = busiest.kind === "link" ? ` ${at}: ${markOf(batch, busiest.device, labels)}; it takes ${formatTime(periodUs)} of each micro-batch.` : "";
  const left = leftOut > 0 ? ` The ${counted(leftOut, "micro-batch", "micro-batches")} in the middle are not drawn.` : "";
  return `${head}${device}${link}${left}`;
}
