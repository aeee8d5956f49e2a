/** The memory of each device over a batch: curves below the blocks, on their axis of time, and what holds the peaks. */

import { element, svg } from "../ui/dom.js";
import { counted, cutName, formatBytes } from "../ui/format.js";
import { LONGEST_TITLE } from "../ui/names.js";
import { areaPath, batchMemoryScale, flightSpans, holderWords, mostOf } from "./batch-memory-model.js";
import { peakClasses } from "./peak-list.js";
import { BYTE_CLASSES, peakSentence } from "./step-words.js";

/** @typedef {import("./batch-memory-model.js").BatchMemory} BatchMemory */

export const MEMORY_HEIGHT = 62;
const CURVE_HEIGHT = 40;
const FLIGHT_TOP = 44;
const FLIGHT_HEIGHT = 12;
/** A digit of a count, in pixels, and the room around it. */
const DIGIT_WIDTH = 7;
const LABEL_ROOM = 4;
const LONGEST_NAME = 60;

/**
 * @param {BatchMemory} memory
 * @param {readonly { device: number, top: number, colour: string, label: string }[]} rows
 * @param {number} endUs of the batch
 * @param {(us: number) => number} x
 * @returns {SVGElement[]}
 */
export function memoryParts(memory, rows, endUs, x) {
  const scale = batchMemoryScale(memory, rows.map(({ device }) => device));
  return rows.flatMap(({ device, top, colour, label }) => {
    const y = (/** @type {number} */ bytes) => top + CURVE_HEIGHT - (bytes / scale.most) * CURVE_HEIGHT;
    const limit = memory.limit_bytes[device];
    const right = x(endUs);
    return [
      svg("path", { class: "batch-memory", d: areaPath(memory.curves[device], endUs, x, y), fill: colour, "data-device": device }),
      svg("path", { class: "batch-floor", d: areaPath({ time_us: [0], value: [memory.floor_bytes[device]] }, endUs, x, y), fill: colour }),
      svg("line", { class: "batch-base", x1: x(0), x2: right, y1: y(0), y2: y(0) }),
      ...(scale.shown[device] ? [svg("line", { class: "batch-limit", x1: x(0), x2: right, y1: y(limit), y2: y(limit) })] : []),
      peakMark(memory, device, label, x, y),
      ...flightParts(memory, device, top + FLIGHT_TOP, endUs, x),
    ];
  });
}

/**
 * @param {BatchMemory} memory
 * @param {number} device
 * @param {string} label
 * @param {(us: number) => number} x
 * @param {(bytes: number) => number} y
 */
function peakMark(memory, device, label, x, y) {
  const bytes = mostOf(memory.curves[device].value);
  const { time_us: timeUs, in_flight: flying } = memory.peaks[device];
  const words = `${label}: ${peakSentence({ bytes, time_us: timeUs }, memory.limit_bytes[device])}, ${inFlight(flying)}`;
  return svg("g", { class: "batch-peak" }, svg("title", {}, words), svg("circle", { cx: Math.max(4, x(timeUs)), cy: y(bytes), r: 4 }));
}

/** @param {number} count */
function inFlight(count) {
  return `${counted(count, "micro-batch", "micro-batches")} in flight`;
}

/**
 * @param {BatchMemory} memory
 * @param {number} device
 * @param {number} top
 * @param {number} endUs
 * @param {(us: number) => number} x
 */
function flightParts(memory, device, top, endUs, x) {
  const most = Math.max(1, mostOf(memory.in_flight[device].value));
  return flightSpans(memory.in_flight[device], endUs).flatMap(({ count, startUs, endUs: until }) => {
    const [left, width] = [x(startUs), x(until) - x(startUs)];
    const fits = String(count).length * DIGIT_WIDTH + LABEL_ROOM <= width;
    return [
      svg("rect", { class: "batch-flight", x: left, y: top, width: Math.max(0.5, width - 0.5), height: FLIGHT_HEIGHT, "fill-opacity": (0.12 + (0.3 * count) / most).toFixed(2) }),
      ...(fits ? [svg("text", { class: "batch-flight-count", x: left + width / 2, y: top + FLIGHT_HEIGHT - 2 }, String(count))] : []),
    ];
  });
}

/**
 * @param {BatchMemory} memory
 * @param {readonly { device: number, label: string }[]} rows
 * @returns {HTMLElement[]} one a device: what holds its peak
 */
export function batchPeakLists(memory, rows) {
  return rows.map(({ device, label }) => {
    const { bytes_of_class: sums, time_us: timeUs, in_flight: flying } = memory.peaks[device];
    const bytes = mostOf(memory.curves[device].value);
    return element(
      "details",
      { class: "peak", "data-device": device },
      element("summary", {}, `${label}: ${peakSentence({ bytes, time_us: timeUs }, memory.limit_bytes[device])}, ${inFlight(flying)}`),
      peakClasses(memory.byte_classes, sums),
      holdersTable(memory.peaks[device], label),
    );
  });
}

/**
 * @param {import("./batch-memory-model.js").Peak} peak
 * @param {string} label of the device
 */
function holdersTable({ holders, other_holders: others }, label) {
  const rows = holders.map((holder) =>
    element(
      "tr",
      {},
      element("th", { scope: "row", title: cutName(holder.op, LONGEST_TITLE) }, cutName(holder.op, LONGEST_NAME)),
      element("td", {}, BYTE_CLASSES[/** @type {keyof typeof BYTE_CLASSES} */ (holder.class)].label),
      element("td", { class: "number" }, formatBytes(holder.bytes)),
      element("td", {}, holderWords(holder)),
    ),
  );
  const head = ["Op", "Class", "Bytes", "Held"].map((text, index) => element("th", { scope: "col", class: index === 2 ? "number" : null }, text));
  const table = element("table", { class: "batch-holders" }, element("caption", { class: "visually-hidden" }, `What holds the peak of ${label}`), element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
  const rest = others > 0 ? [element("p", { class: "hint" }, `And ${counted(others, "smaller one")}.`)] : [];
  return element("div", {}, element("div", { class: "table-scroller", role: "region", tabindex: 0, "aria-label": `What holds the peak of ${label}` }, table), ...rest);
}

