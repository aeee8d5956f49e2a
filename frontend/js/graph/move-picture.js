/** How a drawn graph shows a placement, and the groups that are elsewhere than in a placement before. */

import { COLOURINGS } from "./colouring.js";
import { crosses } from "./placement.js";

/** @typedef {import("./devices.js").DeviceLook} DeviceLook */
/** @typedef {import("./graph-style.js").NodeLook} NodeLook */

/**
 * @typedef {object} Placed
 * @property {ArrayLike<number>} placement [groups]
 * @property {import("./colouring.js").StepFacts | null} step of its groups, where some are on several devices; null: none
 *   is, or not known yet
 */

/** The ring of a group that was on several devices. */
const SPLIT_RING = /** @type {const} */ ({ colour: "--text", pattern: "solid" });

/** An edge is large from this share of the largest one's bytes. */
const LARGE_SHARE = 0.2;

/**
 * @param {Placed} placed
 * @param {readonly DeviceLook[]} devices
 * @returns {import("./graph-view.js").Picture}
 */
export function placedPicture({ placement, step }, devices) {
  const facts = { placement, looks: devices, timeUs: null, bytes: [], step, gainShare: null, costs: null };
  const { looks, lookOf } = COLOURINGS.device.colour(facts, placement.length);
  return { looks, lookOf, placement, cut: step?.cut };
}

/**
 * A moved group has the colour and shape of its device now, and a ring for the device before. All other groups fade,
 * and all edges but the largest of those that cross devices in one of the placements alone.
 *
 * @param {Placed} before
 * @param {Placed} after
 * @param {readonly { group: number }[]} moves
 * @param {readonly DeviceLook[]} devices
 * @param {readonly import("../ui/contracts.js").GroupEdge[]} edges
 * @returns {{ picture: import("./graph-view.js").Picture, lit: Uint8Array, litEdges: Uint8Array }}
 */
export function movePicture(before, after, moves, devices, edges) {
  const lit = new Uint8Array(after.placement.length);
  for (const { group } of moves) {
    lit[group] = 1;
  }
  const plain = placedPicture(after, devices);
  /** @type {NodeLook[]} */
  const looks = [];
  /** @type {Map<string, number>} */
  const indices = new Map();
  const lookOf = Array.from(after.placement, (_, group) => {
    const key = `${plain.lookOf[group]} ${lit[group] ? before.placement[group] : ""}`;
    if (!indices.has(key)) {
      indices.set(key, looks.length);
      looks.push(lookOfMove(plain.looks[plain.lookOf[group]], lit[group] ? (devices[before.placement[group]] ?? SPLIT_RING) : null));
    }
    return /** @type {number} */ (indices.get(key));
  });
  const isCrossing = (/** @type {Placed} */ { placement, step }, /** @type {import("../ui/contracts.js").GroupEdge} */ edge) =>
    step?.cut ? crosses(placement, edge, step.cut) : placement[edge.source] !== placement[edge.target];
  const changed = edges.map((edge) => (isCrossing(before, edge) !== isCrossing(after, edge) ? edge.bytes : -1));
  const least = LARGE_SHARE * changed.reduce((most, bytes) => Math.max(most, bytes), 0);
  const litEdges = Uint8Array.from(changed, (bytes) => Number(bytes >= least));
  return { picture: { ...plain, looks, lookOf }, lit, litEdges };
}

/**
 * @param {NodeLook} look of the group now
 * @param {Pick<DeviceLook, "colour" | "pattern"> | null} before null: it has not moved
 * @returns {NodeLook}
 */
function lookOfMove({ colour, shape, stripes }, before) {
  return { colour, shape, ...(stripes && { stripes }), ...(before && { ring: { colour: before.colour, pattern: before.pattern } }) };
}
