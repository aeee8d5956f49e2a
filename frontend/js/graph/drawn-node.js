/** Draws a node of a graph onto a surface of its own: for pictures that are downloaded. */

import { shapeCorners } from "./devices.js";
import { stripesOf } from "./stripes.js";

/**
 * @typedef {object} DrawnNode
 * @property {number} x pixels
 * @property {number} y pixels
 * @property {number} radius pixels
 * @property {import("./devices.js").Shape} shape
 * @property {string} colour
 * @property {readonly string[]} stripes colours in place of the one; empty: none
 * @property {{ colour: string, width: number }} border
 * @property {number} opacity
 */

/**
 * @param {import("../ui/svg-elements.js").Surface} context
 * @param {DrawnNode} node
 */
export function drawNode(context, node) {
  const corners = shapeCorners(node.shape);
  context.globalAlpha = node.opacity;
  trace(context, node, corners);
  context.fillStyle = node.colour;
  context.fill();
  for (const stripe of stripesOf(node.stripes, node.shape)) {
    trace(context, node, stripe.corners);
    context.fillStyle = stripe.colour;
    context.fill();
  }
  trace(context, node, corners);
  context.strokeStyle = node.border.colour;
  context.lineWidth = node.border.width;
  context.stroke();
}

/**
 * @param {import("../ui/svg-elements.js").Surface} context
 * @param {DrawnNode} node
 * @param {readonly (readonly [number, number])[] | null} corners null: a circle
 */
function trace(context, { x, y, radius }, corners) {
  context.beginPath();
  if (corners) {
    corners.forEach(([right, down], index) => context[index ? "lineTo" : "moveTo"](x + right * radius, y + down * radius));
    context.closePath();
  } else {
    context.arc(x, y, radius, 0, 2 * Math.PI);
  }
}
