/** The details of one group: in a panel when it is chosen, in a tip under the pointer. */

import { deviceMark } from "./device-legend.js";
import { splitFacts, splitLine } from "./split-places.js";
import { element } from "../ui/dom.js";
import { counted, cutName, formatBytes, formatCount, formatTime, NOTHING } from "../ui/format.js";
import { cutNames, LONGEST_TITLE, shownName } from "../ui/names.js";

/** @typedef {import("../ui/contracts.js").Group} Group */

const NAMES_OF_A_SELECTION = 5;

/**
 * @typedef {object} Detail
 * @property {Group} group
 * @property {import("./devices.js").DeviceLook | null} look of its device
 * @property {number | null} timeUs on that device
 * @property {{ inputs: number, outputs: number }} edges
 * @property {import("./split-places.js").SplitPlaces | null} [split] of a node on several devices
 * @property {string} [outside] of an item of an opened scope: bytes from and to ops outside of the scope
 * @property {Node | null} [extra] what another part of the page adds to the panel
 */

/**
 * @param {Detail} detail
 * @returns {Node[]}
 */
export function groupTip({ group, look, split, timeUs }) {
  const place = look ? [element("span", { class: "tip-device" }, deviceMark(look), look.label)] : split ? [splitLine(split.places.map((each) => each.look))] : [];
  return [
    element("strong", { class: "name" }, cutName(shownName(group))),
    ...place,
    element("span", {}, `${counted(group.ops, "op")}, ${formatTime(timeUs)}, ${formatBytes(group.output_bytes)} out`),
    ...wholeName(group),
  ];
}

/**
 * @param {Detail} detail
 * @param {() => void} onClose
 * @param {(() => void) | null} onOpen null: nothing is in it to open
 * @returns {Node[]}
 */
export function groupPanel(detail, onClose, onOpen) {
  const { group, look, timeUs, edges, extra, outside, split } = detail;
  const types = group.types.map(([type, count]) => `${cutName(type, 60) || "no type"} × ${formatCount(count)}`).join(", ");
  const rows = [
    .../** @type {[string, Node | string][]} */ (extra || split ? [] : [["Device", look ? element("span", { class: "tip-device" }, deviceMark(look), look.label) : NOTHING]]),
    ["Ops", formatCount(group.ops)],
    ["Time", timeUs === null ? timesOf(group) : formatTime(timeUs)],
    ["Outputs", formatBytes(group.output_bytes)],
    ["Variables", formatBytes(group.persistent_bytes)],
    ["Edges", `${formatCount(edges.inputs)} in, ${formatCount(edges.outputs)} out`],
    .../** @type {[string, string][]} */ (outside ? [["Outside", outside]] : []),
  ];
  const open = element("button", { type: "button", class: "button is-quiet open-scope", hidden: !onOpen }, `Open its ${counted(group.ops, "op")}`);
  open.addEventListener("click", () => onOpen?.());
  return [
    closeButton(onClose),
    open,
    element("h3", { class: "name", title: cutName(group.name, LONGEST_TITLE) }, cutName(shownName(group), 400)),
    ...(split ? [splitFacts(split)] : []),
    ...(extra ? [extra] : []),
    factList(rows),
    element("p", { class: "types name muted" }, types),
  ];
}

/**
 * The panel of several selected groups.
 *
 * @param {readonly Detail[]} details
 * @param {Node | null} extra what another part of the page adds
 * @param {() => void} onClose
 * @returns {Node[]}
 */
export function selectionPanel(details, extra, onClose) {
  const sum = (/** @type {(detail: Detail) => number} */ of) => details.reduce((total, detail) => total + of(detail), 0);
  const rows = [
    ...placesOf(details),
    ["Ops", formatCount(sum(({ group }) => group.ops))],
    ["Time", formatTime(sum(({ timeUs }) => timeUs ?? 0))],
    ["Outputs", formatBytes(sum(({ group }) => group.output_bytes))],
    ["Variables", formatBytes(sum(({ group }) => group.persistent_bytes))],
  ];
  const first = details.slice(0, NAMES_OF_A_SELECTION).map(({ group }) => group);
  const words = cutNames(first.map(shownName), 80);
  const named = first.map(({ name }, index) => element("li", { class: "name", title: cutName(name, LONGEST_TITLE) }, words[index]));
  const left = details.length - named.length;
  const more = left > 0 ? [element("li", {}, `and ${formatCount(left)} more`)] : [];
  return [
    closeButton(onClose),
    element("h3", {}, `${formatCount(details.length)} groups selected`),
    ...(extra ? [extra] : []),
    factList(rows),
    element("ul", { class: "types" }, ...named, ...more),
  ];
}

/**
 * Where several groups are, the device with the most of them first.
 *
 * @param {readonly Detail[]} details
 * @returns {[string, string][]} empty without devices
 */
function placesOf(details) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { look, split } of details) {
    const place = look?.label ?? (split ? "several" : "");
    counts.set(place, (counts.get(place) ?? 0) + 1);
  }
  const known = [...counts].filter(([place]) => place !== "").sort(([, one], [, other]) => other - one);
  const words = known.length === 1 ? [`all on ${known[0][0]}`] : known.map(([place, count]) => `${formatCount(count)} on ${place}`);
  return known.length > 0 ? [["Groups", words.join(", ")]] : [];
}

/**
 * @param {Group} group
 * @returns {Node[]} its whole name, for a tip, where it is longer than the shown one
 */
function wholeName(group) {
  return group.name === shownName(group) ? [] : [element("span", { class: "name tip-whole" }, cutName(group.name, LONGEST_TITLE))];
}

/** @param {() => void} onClose */
function closeButton(onClose) {
  const close = element("button", { type: "button", class: "icon-button", "aria-label": "Close", title: "Close" }, "✕");
  close.addEventListener("click", onClose);
  return close;
}

/** @param {(string | Node)[][]} rows of a term and its value */
function factList(rows) {
  const facts = rows.map(([term, value]) => element("div", {}, element("dt", {}, term), element("dd", {}, value)));
  return element("dl", { class: "facts" }, ...facts);
}

/** @param {Group} group */
function timesOf(group) {
  return Object.entries(group.time_us).map(([kind, time]) => `${kind} ${formatTime(time)}`).join(", ") || NOTHING;
}
