/** How much of a flat drawing is drawn at each zoom. */

/** Pixels between neighbours from which nodes have their shapes, and from which they have their names. */
export const SHAPES_FROM = 14;
export const NAMES_FROM = 56;
const STRONGEST = 0.55;
const FAINTEST = 0.012;
/** So much of the canvas is covered by edges at most, were they opaque and side by side. */
const MOST_COVERED = 0.25;

/**
 * @param {number} scale pixels between neighbours
 * @returns {"dots" | "shapes" | "names"}
 */
export function detailOf(scale) {
  return scale < SHAPES_FROM ? "dots" : scale < NAMES_FROM ? "shapes" : "names";
}

/**
 * Many edges over each other would hide the nodes and each other: the more of the canvas they cover, the fainter.
 *
 * @param {number} covered pixels of edges for one pixel of the canvas
 * @returns {number} opacity
 */
export function edgeOpacity(covered) {
  return Math.max(FAINTEST, Math.min(STRONGEST, MOST_COVERED / Math.max(covered, MOST_COVERED)));
}

/**
 * @param {number} scale pixels between neighbours
 * @returns {readonly [number, number, number]} width in pixels of each class of bytes
 */
export function edgeWidths(scale) {
  return scale < SHAPES_FROM ? [1, 1, 1] : [1, 1.5, 2.5];
}

/**
 * Whether an edge is drawn: one of its ends is seen. With both ends elsewhere it says nothing here.
 *
 * @param {{ left: number, top: number, right: number, bottom: number }} box
 * @param {number} fromX
 * @param {number} fromY
 * @param {number} toX
 * @param {number} toY
 * @returns {boolean}
 */
export function isEdgeSeen({ left, top, right, bottom }, fromX, fromY, toX, toY) {
  return (
    (fromX >= left && fromX <= right && fromY >= top && fromY <= bottom) ||
    (toX >= left && toX <= right && toY >= top && toY <= bottom)
  );
}
