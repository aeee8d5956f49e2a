/** Where the difference of two steps comes from: by cause on the critical chain, and by device. Each adds up to it. */

import { deviceMark } from "../graph/device-legend.js";
import { DEVICE_PARTS } from "../step/device-parts.js";
import { CAUSES } from "../step/step-words.js";
import { element, scroller } from "../ui/dom.js";
import { formatTime, formatTimeChange } from "../ui/format.js";
import { causeParts, deviceParts } from "./difference.js";

/** @typedef {import("../step/step.js").Step} Step */
/** @typedef {import("./difference.js").Part} Part */

/**
 * @param {Step} before
 * @param {Step} after
 * @param {readonly import("../graph/devices.js").DeviceLook[]} looks
 * @returns {HTMLElement[]}
 */
export function differenceTables(before, after, looks) {
  const sum = { name: "step", beforeUs: before.stepTimeUs, afterUs: after.stepTimeUs, us: after.stepTimeUs - before.stepTimeUs };
  return [
    table({
      title: "Critical chain",
      name: "causes",
      heads: [["Time"]],
      rows: causeParts(before, after).map((part) => ({ words: CAUSES[/** @type {keyof typeof CAUSES} */ (part.name)].label, parts: [part] })),
      sum: [sum],
    }),
    table({
      title: "Each device",
      name: "devices",
      heads: looks.map((look) => [deviceMark(look), ` ${look.label}`]),
      rows: byPart(deviceParts(before, after)),
      sum: looks.map(() => sum),
    }),
  ];
}

/**
 * @param {Part[][]} devices
 * @returns {{ words: string, parts: Part[] }[]} without the parts that no device has
 */
function byPart(devices) {
  return (devices[0] ?? [])
    .map(({ name }, index) => ({
      words: DEVICE_PARTS[/** @type {keyof typeof DEVICE_PARTS} */ (name)],
      parts: devices.map((parts) => parts[index]),
    }))
    .filter(({ parts }) => parts.some(({ beforeUs, afterUs }) => beforeUs > 0 || afterUs > 0));
}

/**
 * @param {object} content
 * @param {string} content.title
 * @param {string} content.name
 * @param {(Node | string)[][]} content.heads of the columns
 * @param {{ words: string, parts: Part[] }[]} content.rows
 * @param {Part[]} content.sum [columns]
 */
function table({ title, name, heads, rows, sum }) {
  const caption = `${title}: how much longer or shorter each part of the step became, and its time before and after`;
  const made = element(
    "table",
    { class: "parts", "data-parts": name },
    element("caption", { class: "visually-hidden" }, caption),
    element(
      "thead",
      {},
      element("tr", {}, element("th", { scope: "col" }, "Part of the step"), ...heads.map((head) => element("th", { scope: "col", class: "number" }, ...head))),
    ),
    element("tbody", {}, ...rows.map(row)),
    element("tfoot", {}, row({ words: "The whole step", parts: sum })),
  );
  return element("div", {}, element("h3", {}, title), scroller(title, made));
}

/** @param {{ words: string, parts: Part[] }} content */
function row({ words, parts }) {
  const cells = parts.map(({ name, beforeUs, afterUs, us }) =>
    element(
      "td",
      { class: "number", "data-name": name, "data-us": us },
      formatTimeChange(us),
      element("span", { class: "muted" }, beforeUs === 0 && afterUs === 0 ? "" : `${formatTime(beforeUs)} → ${formatTime(afterUs)}`),
    ),
  );
  return element("tr", {}, element("th", { scope: "row" }, words), ...cells);
}
