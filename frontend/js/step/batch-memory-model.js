/** The memory of a batch as curves and words, apart from the drawing. */

import { counted, formatBytes, formatTime } from "../ui/format.js";
import { firstAbove } from "./lanes.js";
import { memoryScale } from "./memory-scale.js";

/**
 * @typedef {object} Curve constant between changes
 * @property {number[]} time_us [changes] ascending, the first is 0
 * @property {number[]} value [changes] from this time to the next
 *
 * @typedef {object} Holder the holdings of one op and class at a peak
 * @property {string} op as people are shown it
 * @property {string} class
 * @property {number} bytes
 * @property {number} micro_batches of which it holds some; 0: it is held once for all
 *
 * @typedef {object} Peak
 * @property {number} time_us
 * @property {number} in_flight
 * @property {number[]} bytes_of_class [byte classes]
 * @property {Holder[]} holders the largest first
 * @property {number} other_holders how many are not told
 *
 * @typedef {object} BatchMemory the field `memory` of `blocks.json`; each list is by device
 * @property {number[]} limit_bytes
 * @property {number[]} floor_bytes what is held during the whole batch
 * @property {string[]} byte_classes
 * @property {Curve[]} curves in bytes
 * @property {Curve[]} in_flight micro-batches
 * @property {Peak[]} peaks
 */

/** Room above the limit, so that its line shows. */
const HEADROOM = 1.06;
/** Times the largest peak that a limit may be to be drawn: the rows are low, and most of them is what is always held. */
const FARTHEST_LIMIT = 1.6;

/**
 * @param {Curve} curve
 * @param {number} us
 * @returns {number} the value at that time
 */
export function valueAt({ time_us: times, value }, us) {
  return value[Math.max(0, firstAbove(times, us) - 1)];
}

/**
 * @param {readonly number[]} values
 * @returns {number} the greatest, 0 of none
 */
export function mostOf(values) {
  return values.reduce((most, value) => Math.max(most, value), 0);
}

/**
 * @param {BatchMemory} memory
 * @param {readonly number[]} devices that have a row
 * @returns {{ most: number, shown: boolean[] }} the bytes at the top of each row; [devices] whether its limit is drawn
 */
export function batchMemoryScale(memory, devices) {
  const peaks = memory.curves.map(({ value }, device) => (devices.includes(device) ? mostOf(value) : 0));
  const limits = memory.limit_bytes.map((limit, device) => (devices.includes(device) ? limit : Infinity));
  const { most, shown } = memoryScale(peaks, limits, FARTHEST_LIMIT);
  return { most: most * HEADROOM, shown };
}

/**
 * @param {Curve} curve
 * @param {number} endUs of the batch
 * @param {(us: number) => number} x
 * @param {(value: number) => number} y
 * @returns {string} the path of the area below the curve
 */
export function areaPath({ time_us: times, value }, endUs, x, y) {
  const bottom = y(0).toFixed(1);
  const steps = times.map((time, index) => {
    const level = y(value[index]).toFixed(1);
    return `L${x(time).toFixed(1)} ${level}H${x(times[index + 1] ?? endUs).toFixed(1)}`;
  });
  return `M${x(0).toFixed(1)} ${bottom}${steps.join("")}V${bottom}Z`;
}

/**
 * @param {Curve} curve of micro-batches in flight
 * @param {number} endUs of the batch
 * @returns {{ count: number, startUs: number, endUs: number }[]} the spans in which any are
 */
export function flightSpans({ time_us: times, value }, endUs) {
  /** @type {{ count: number, startUs: number, endUs: number }[]} */
  const spans = [];
  times.forEach((startUs, index) => {
    const [count, until] = [value[index], times[index + 1] ?? endUs];
    const last = spans.at(-1);
    if (last && last.count === count && last.endUs === startUs) {
      last.endUs = until;
    } else if (count > 0 && until > startUs) {
      spans.push({ count, startUs, endUs: until });
    }
  });
  return spans;
}

/**
 * @param {BatchMemory} memory
 * @param {number} device
 * @returns {string} `Peak 240 MiB of 11 GiB`
 */
export function peakWords(memory, device) {
  return `Peak ${formatBytes(mostOf(memory.curves[device].value))} of ${formatBytes(memory.limit_bytes[device])}`;
}

/**
 * @param {BatchMemory} memory
 * @param {number} device
 * @param {string} label of the device
 * @param {number} us
 * @returns {string} what is held and in flight at that time
 */
export function heldWords(memory, device, label, us) {
  const held = formatBytes(valueAt(memory.curves[device], us));
  const flying = counted(valueAt(memory.in_flight[device], us), "micro-batch", "micro-batches");
  return `At ${formatTime(us, 4)} ${label} holds ${held}, ${formatBytes(memory.floor_bytes[device])} of it always; ${flying} in flight.`;
}

/**
 * @param {Holder} holder
 * @returns {string} of how many micro-batches it is held
 */
export function holderWords({ micro_batches: micros }) {
  return micros === 0 ? "once, during the whole batch" : `of ${counted(micros, "micro-batch", "micro-batches")}`;
}
