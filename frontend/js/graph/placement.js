/** The effects of a placement: moved groups, load of each device, crossing edges. */

import { counted, formatBytes, formatCount } from "../ui/format.js";
import { SPLIT } from "./colouring.js";

/** @typedef {import("../ui/contracts.js").Group} Group */
/** @typedef {import("../ui/contracts.js").Device} Device */

/**
 * @typedef {object} Load load of one device under a placement
 * @property {number} groups that are there as a whole
 * @property {number} parts of groups that are on other devices too
 * @property {number} timeUs sum over its groups and parts
 */

/**
 * The groups whose device differs; all of them without a previous placement.
 *
 * @param {ArrayLike<number> | null} previous
 * @param {ArrayLike<number> | null} next
 * @param {number} count of groups
 * @returns {number[]}
 */
export function differences(previous, next, count) {
  const changed = [];
  for (let group = 0; group < count; group += 1) {
    if (!previous || !next || previous[group] !== next[group]) {
      changed.push(group);
    }
  }
  return changed;
}

/**
 * @param {Group} group
 * @param {string} kind of a device, a name from a file
 * @returns {number | null}
 */
export function timeOfKind(group, kind) {
  return Object.hasOwn(group.time_us, kind) ? group.time_us[kind] : null;
}

/**
 * @param {readonly Group[]} groups
 * @param {readonly Device[]} devices
 * @param {ArrayLike<number>} placement [groups]
 * @param {ReadonlyMap<number, readonly import("./colouring.js").Part[]>} [partsOf] group on several devices → its parts, once
 *   they are known
 * @returns {Load[]} [devices]
 */
export function loads(groups, devices, placement, partsOf = new Map()) {
  const sums = devices.map(() => ({ groups: 0, parts: 0, timeUs: 0 }));
  groups.forEach((group, index) => {
    const load = sums[placement[index]];
    if (load) {
      load.groups += 1;
      load.timeUs += timeOfKind(group, devices[placement[index]].kind) ?? 0;
    }
    for (const { device, timeUs } of load ? [] : (partsOf.get(index) ?? [])) {
      sums[device].parts += 1;
      sums[device].timeUs += timeUs;
    }
  });
  return sums;
}

/**
 * Whether an edge is between two devices; where an end is on several, the placement alone does not say so.
 *
 * @param {ArrayLike<number>} placement [nodes]
 * @param {{ source: number, target: number }} edge
 * @param {ReadonlySet<number> | null} [cut] as `StepFacts` has it
 */
export function crosses(placement, { source, target }, cut = null) {
  if (cut) {
    return cut.has(source * placement.length + target);
  }
  const [from, to] = [placement[source], placement[target]];
  return from !== to && from !== SPLIT && to !== SPLIT;
}

/**
 * The bytes on edges whose ends are on different devices.
 *
 * @param {readonly import("../ui/contracts.js").GroupEdge[]} edges
 * @param {ArrayLike<number>} placement [groups]
 * @returns {{ edges: number, bytes: number }}
 */
export function crossing(edges, placement) {
  const cross = edges.filter((edge) => crosses(placement, edge));
  return { edges: cross.length, bytes: cross.reduce((sum, edge) => sum + edge.bytes, 0) };
}

/**
 * @param {readonly import("../ui/contracts.js").GroupEdge[]} edges
 * @param {ArrayLike<number>} placement [groups]
 * @param {readonly { bytes: number }[] | null} cuts the edges between ops on two devices; null: not known yet
 * @returns {string} a sentence; empty: groups are on several devices, and it is not known yet what that cuts
 */
export function crossingWords(edges, placement, cuts) {
  if (Array.from(placement).includes(SPLIT)) {
    const bytes = (cuts ?? []).reduce((sum, cut) => sum + cut.bytes, 0);
    const split = counted(Array.from(placement).filter((device) => device === SPLIT).length, "group");
    return cuts ? `${split} on several devices; ${counted(cuts.length, "edge")} between ops cross devices (${formatBytes(bytes)}).` : "";
  }
  const cross = crossing(edges, placement);
  return `${formatCount(cross.edges)} of ${formatCount(edges.length)} edges cross devices (${formatBytes(cross.bytes)}).`;
}
