/** Where the parts of a node are whose ops are on several devices. */

import { deviceMark } from "./device-legend.js";
import { element } from "../ui/dom.js";
import { counted, formatShares } from "../ui/format.js";

/** @typedef {import("./colouring.js").Part} Part */
/** @typedef {import("./devices.js").DeviceLook} DeviceLook */

/**
 * @typedef {object} SplitPlaces
 * @property {readonly { look: DeviceLook, words: string }[]} places
 * @property {string} boundary between them, in words; empty: not known yet
 */

/**
 * @param {readonly Part[] | null} parts null: not known yet
 * @param {readonly DeviceLook[]} looks
 * @param {string} boundary
 * @returns {SplitPlaces}
 */
export function splitPlaces(parts, looks, boundary) {
  const known = parts ?? [];
  const all = timeOfParts(known);
  const shares = all > 0 ? formatShares(known.map(({ timeUs }) => timeUs / all)) : [];
  const places = known.map(({ device, ops }, index) => ({
    look: looks[device],
    words: `${counted(ops, "op")}${all > 0 ? `, ${shares[index]} of its time` : ""}`,
  }));
  return { places, boundary };
}

/** @param {readonly Part[]} parts */
export function timeOfParts(parts) {
  return parts.reduce((sum, { timeUs }) => sum + timeUs, 0);
}

/**
 * @param {SplitPlaces} split
 * @returns {HTMLElement}
 */
export function splitFacts({ places, boundary }) {
  const head = places.length > 0 ? `Its ops are on ${counted(places.length, "device")}:` : "Its ops are on several devices.";
  const rows = places.map(({ look, words }) =>
    element("li", { "data-device-part": look.index }, deviceMark(look), element("strong", {}, look.label), element("span", {}, words)));
  return element(
    "div",
    { class: "split-places" },
    element("p", {}, head),
    element("ul", {}, ...rows),
    ...(boundary ? [element("p", { class: "hint name" }, boundary)] : []),
  );
}

/**
 * The devices of the parts: for a cell of a table.
 *
 * @param {readonly Part[] | null} parts null: not known yet
 * @param {readonly DeviceLook[]} looks
 * @returns {(Node | string)[]}
 */
export function splitCell(parts, looks) {
  return parts ? [...parts.map(({ device }) => deviceMark(looks[device])), counted(parts.length, "device")] : ["several"];
}

/**
 * The devices of the parts, with nothing else: for a line.
 *
 * @param {readonly DeviceLook[]} looks
 * @returns {HTMLElement}
 */
export function splitLine(looks) {
  return element("span", { class: "tip-device" }, ...looks.map(deviceMark), looks.map(({ label }) => label).join(", "));
}
