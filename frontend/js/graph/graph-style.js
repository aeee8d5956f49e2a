/** The style of the nodes, for Cytoscape. A node has a class for its size and one for its look: few, so that pictures are shared. */

import { colour, paint } from "../ui/colours.js";
import { runsOf } from "./stripes.js";

/**
 * @typedef {object} NodeLook
 * @property {string} colour of the style sheet (`--ramp-2`), or `#rrggbb`
 * @property {import("./devices.js").Shape} shape
 * @property {readonly string[]} [stripes] colours side by side in place of the one
 * @property {{ colour: string, pattern: "solid" | "dashed" | "double" | "dotted" }} [ring] a broad border with a meaning
 */

const BORDER_SHARE = 0.05;
const RING_SHARE = 0.2;
const FADED = 0.18;

/**
 * @param {readonly NodeLook[]} looks
 * @param {import("./graph-geometry.js").Drawing} drawing
 * @returns {import("../../vendor/cytoscape.esm.min.mjs").default.StylesheetStyle[]}
 */
export function graphStyle(looks, { sizes, room }) {
  return [
    {
      selector: "node",
      style: {
        shape: "ellipse",
        "background-color": colour("--node-unplaced"),
        "border-width": room * BORDER_SHARE,
        "border-color": colour("--border-strong"),
        "overlay-opacity": 0,
      },
    },
    ...sizes.map((size, level) => ({ selector: `.${sizeClass(level)}`, style: { width: size, height: size } })),
    ...looks.map((look, index) => ({
      selector: `.${lookClass(index)}`,
      style: { "background-color": paint(look.colour), shape: look.shape, ...stripesStyle(look), ...ringStyle(look, room) },
    })),
    { selector: ".faded", style: { opacity: FADED } },
  ];
}

/** @param {NodeLook} look */
function stripesStyle({ stripes }) {
  if (!stripes) {
    return undefined;
  }
  const runs = runsOf(stripes);
  return {
    "background-fill": /** @type {const} */ ("linear-gradient"),
    "background-gradient-direction": /** @type {const} */ ("to-right"),
    "background-gradient-stop-colors": runs.flatMap(({ colour: stripe }) => [paint(stripe), paint(stripe)]),
    "background-gradient-stop-positions": runs.flatMap(({ from, until }) => [from, until].map((at) => `${(100 * at) / stripes.length}%`)),
  };
}

/**
 * @param {NodeLook} look
 * @param {number} room
 */
function ringStyle({ ring }, room) {
  return ring && { "border-width": room * RING_SHARE, "border-color": paint(ring.colour), "border-style": ring.pattern };
}

/** @param {number} level of size */
export function sizeClass(level) {
  return `size-${level}`;
}

/** @param {number} index of a look */
export function lookClass(index) {
  return `look-${index}`;
}
