/** The effects of a placement: moved groups, load of each device, crossing edges. */

import { formatBytes, formatCount } from "../ui/format.js";

/** @typedef {import("../ui/contracts.js").Group} Group */
/** @typedef {import("../ui/contracts.js").Device} Device */

/**
 * @typedef {object} Load load of one device under a placement
 * @property {number} groups
 * @property {number} timeUs sum over its groups
 * @property {number} outputBytes
 * @property {number} persistentBytes
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
 * The time of a group on a device: for its kind, else its class, else for all devices.
 *
 * @param {Group} group
 * @param {Device} device
 * @returns {number | null}
 */
export function timeOn(group, device) {
  for (const kind of [device.kind, device.class, "*"]) {
    if (Object.hasOwn(group.time_us, kind)) {
      return group.time_us[kind];
    }
  }
  return null;
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
 * @returns {Load[]} [devices]
 */
export function loads(groups, devices, placement) {
  const sums = devices.map(() => ({ groups: 0, timeUs: 0, outputBytes: 0, persistentBytes: 0 }));
  groups.forEach((group, index) => {
    const load = sums[placement[index]];
    if (load) {
      load.groups += 1;
      load.timeUs += timeOn(group, devices[placement[index]]) ?? 0;
      load.outputBytes += group.output_bytes;
      load.persistentBytes += group.persistent_bytes;
    }
  });
  return sums;
}

/**
 * The bytes on edges whose ends are on different devices.
 *
 * @param {readonly import("../ui/contracts.js").GroupEdge[]} edges
 * @param {ArrayLike<number>} placement [groups]
 * @returns {{ edges: number, bytes: number }}
 */
export function crossing(edges, placement) {
  const cross = edges.filter(({ source, target }) => placement[source] !== placement[target]);
  return { edges: cross.length, bytes: cross.reduce((sum, edge) => sum + edge.bytes, 0) };
}

/**
 * @param {readonly import("../ui/contracts.js").GroupEdge[]} edges
 * @param {ArrayLike<number>} placement [groups]
 * @returns {string} a sentence
 */
export function crossingWords(edges, placement) {
  const cross = crossing(edges, placement);
  return `${formatCount(cross.edges)} of ${formatCount(edges.length)} edges cross devices (${formatBytes(cross.bytes)}).`;
}
