/** The way of rectangles and of the view from where they were to where they are, in a moment. Pure. */

/** @typedef {import("./block-layout.js").Rectangle} Rectangle */
/** @typedef {import("../drawing/viewport.js").Viewport} Viewport */

export const MOTION_MILLISECONDS = 240;

/**
 * @param {number} share of the time that has passed, from 0 to 1
 * @returns {number} of the way: quick at first, then slower
 */
export function eased(share) {
  return 1 - (1 - Math.min(1, Math.max(0, share))) ** 3;
}

/**
 * @param {Rectangle} from
 * @param {Rectangle} to
 * @param {number} way from 0 to 1
 * @returns {Rectangle}
 */
export function between(from, to, way) {
  const at = (/** @type {keyof Rectangle} */ side) => from[side] + (to[side] - from[side]) * way;
  return { x: at("x"), y: at("y"), width: at("width"), height: at("height") };
}

/**
 * @param {Viewport} from
 * @param {Viewport} to
 * @param {number} way from 0 to 1
 * @returns {Viewport}
 */
export function betweenViews(from, to, way) {
  return Object.freeze({ zoom: from.zoom + (to.zoom - from.zoom) * way, x: from.x + (to.x - from.x) * way, y: from.y + (to.y - from.y) * way });
}

/**
 * Where what is in a block comes out of as it opens: the same arrangement, as small as the block was.
 *
 * @param {Rectangle} place in the opened block
 * @param {Rectangle} opened the block
 * @param {Rectangle} closed where the block was before
 * @returns {Rectangle}
 */
export function folded(place, opened, closed) {
  const [across, down] = [closed.width / opened.width, closed.height / opened.height];
  return { x: closed.x + (place.x - opened.x) * across, y: closed.y + (place.y - opened.y) * down, width: place.width * across, height: place.height * down };
}

/**
 * A view in which a rectangle is on the canvas, as like to the one before as that allows.
 *
 * @param {Viewport} view
 * @param {Rectangle} place
 * @param {import("../drawing/viewport.js").Size} canvas
 * @param {number} margin pixels around it
 * @returns {Viewport}
 */
export function showing(view, place, canvas, margin) {
  const room = { width: canvas.width - 2 * margin, height: canvas.height - 2 * margin };
  const zoom = Math.min(view.zoom, Math.max(Math.min(room.width / place.width, room.height / place.height), view.zoom / 3));
  const left = view.x + place.x * view.zoom;
  const top = view.y + place.y * view.zoom;
  return Object.freeze({
    zoom,
    x: slid(left, place.width * zoom, margin, room.width) - place.x * zoom,
    y: slid(top, place.height * zoom, margin, room.height) - place.y * zoom,
  });
}

/**
 * @param {number} start pixels
 * @param {number} length
 * @param {number} margin
 * @param {number} room
 * @returns {number} the start that brings it into the room; of what is longer, its beginning
 */
function slid(start, length, margin, room) {
  return Math.max(margin, Math.min(start, margin + room - length));
}
