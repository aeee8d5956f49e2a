/** The details of one group: in a panel when it is chosen, in a tip under the pointer. */

import { deviceMark } from "./device-legend.js";
import { element } from "../ui/dom.js";
import { counted, cutName, formatBytes, formatCount, formatTime, NOTHING } from "../ui/format.js";

/** @typedef {import("../ui/contracts.js").Group} Group */

/**
 * @typedef {object} Detail
 * @property {Group} group
 * @property {import("./devices.js").DeviceLook | null} look of its device
 * @property {number | null} timeUs on that device
 * @property {{ inputs: number, outputs: number }} edges
 * @property {string} [outside] of an item of an opened scope: bytes from and to ops outside of the scope
 * @property {Node | null} [extra] what another part of the page adds to the panel
 */

/**
 * @param {Detail} detail
 * @returns {Node[]}
 */
export function groupTip({ group, look, timeUs }) {
  const place = look ? [element("span", { class: "tip-device" }, deviceMark(look), look.label)] : [];
  return [
    element("strong", { class: "name" }, cutName(group.name)),
    ...place,
    element("span", {}, `${counted(group.ops, "op")}, ${formatTime(timeUs)}, ${formatBytes(group.output_bytes)} out`),
  ];
}

/**
 * @param {Detail} detail
 * @param {() => void} onClose
 * @param {(() => void) | null} onOpen null: nothing is in it to open
 * @returns {Node[]}
 */
export function groupPanel(detail, onClose, onOpen) {
  const { group, look, timeUs, edges, extra, outside } = detail;
  const types = group.types.map(([type, count]) => `${cutName(type, 60) || "no type"} × ${formatCount(count)}`).join(", ");
  const rows = [
    ["Device", look ? element("span", { class: "tip-device" }, deviceMark(look), look.label) : NOTHING],
    ["Ops", formatCount(group.ops)],
    ["Time", timeUs === null ? timesOf(group) : formatTime(timeUs)],
    ["Outputs", formatBytes(group.output_bytes)],
    ["Variables", formatBytes(group.persistent_bytes)],
    ["Edges", `${formatCount(edges.inputs)} in, ${formatCount(edges.outputs)} out`],
    .../** @type {[string, string][]} */ (outside ? [["Outside", outside]] : []),
  ];
  const close = element("button", { type: "button", class: "icon-button", "aria-label": "Close", title: "Close" }, "✕");
  close.addEventListener("click", onClose);
  const open = element("button", { type: "button", class: "button is-quiet open-scope", hidden: !onOpen }, `Open its ${counted(group.ops, "op")}`);
  open.addEventListener("click", () => onOpen?.());
  return [
    close,
    open,
    element("h3", { class: "name" }, cutName(group.name, 400)),
    element("p", { class: "types name muted" }, types),
    element(
      "dl",
      { class: "facts" },
      ...rows.map(([term, value]) => element("div", {}, element("dt", {}, term), element("dd", {}, value))),
    ),
    ...(extra ? [extra] : []),
  ];
}

/** @param {Group} group */
function timesOf(group) {
  return Object.entries(group.time_us).map(([kind, time]) => `${kind} ${formatTime(time)}`).join(", ") || NOTHING;
}
