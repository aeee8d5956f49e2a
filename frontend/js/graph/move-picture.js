/** How a drawn graph shows the groups that are on another device than in a placement before. */

import { SPLIT_LOOK } from "./colouring.js";
import { differences } from "./placement.js";

/** @typedef {import("./devices.js").DeviceLook} DeviceLook */

/** The ring of a group that was on several devices. */
const SPLIT_PATTERN = "solid";

/** An edge is large from this share of the largest one's bytes. */
const LARGE_SHARE = 0.2;

/**
 * A moved group has the colour and shape of its device now, and a ring for the device before. All other groups fade,
 * and all edges but the largest of those that cross devices in one of the placements alone.
 *
 * @param {ArrayLike<number>} before [groups]
 * @param {ArrayLike<number>} after [groups]
 * @param {readonly DeviceLook[]} devices
 * @param {readonly import("../ui/contracts.js").GroupEdge[]} edges
 * @returns {{ picture: import("./graph-view.js").Picture, lit: Uint8Array, litEdges: Uint8Array }}
 */
export function movePicture(before, after, devices, edges) {
  const lit = new Uint8Array(after.length);
  for (const group of differences(before, after, after.length)) {
    lit[group] = 1;
  }
  /** @type {import("./graph-style.js").NodeLook[]} */
  const looks = [];
  /** @type {Map<string, number>} */
  const indices = new Map();
  const lookOf = Array.from(after, (to, group) => {
    const from = lit[group] ? before[group] : to;
    const key = `${from} ${to}`;
    if (!indices.has(key)) {
      indices.set(key, looks.length);
      looks.push(lookOfMove(devices, from, to));
    }
    return /** @type {number} */ (indices.get(key));
  });
  const changed = edges.map(({ source, target, bytes }) => ((before[source] === before[target]) !== (after[source] === after[target]) ? bytes : -1));
  const least = LARGE_SHARE * changed.reduce((most, bytes) => Math.max(most, bytes), 0);
  const litEdges = Uint8Array.from(changed, (bytes) => Number(bytes >= least));
  return { picture: { looks, lookOf, placement: after }, lit, litEdges };
}

/**
 * @param {readonly DeviceLook[]} devices
 * @param {number} from device, or `SPLIT`
 * @param {number} to device, or `SPLIT`
 * @returns {import("./graph-style.js").NodeLook}
 */
function lookOfMove(devices, from, to) {
  const { colour, shape } = devices[to] ?? SPLIT_LOOK;
  const ring = { colour: devices[from]?.colour ?? "--text", pattern: devices[from]?.pattern ?? SPLIT_PATTERN };
  return from === to ? { colour, shape } : { colour, shape, ring };
}
