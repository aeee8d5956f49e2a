/** Which part of a flat drawing a canvas shows: pure values. */

/**
 * @typedef {object} Viewport
 * @property {number} scale pixels a distance between neighbours
 * @property {number} left pixel of the drawing's x = 0
 * @property {number} top pixel of its y = 0
 *
 * @typedef {{ width: number, height: number }} Size in pixels, or in distances between neighbours
 */

const PADDING_PIXELS = 20;
const GREATEST_SCALE = 90;
/** A small graph is not blown up beyond this. */
const GREATEST_FIT = 48;
/** At least so much of the drawing stays on the canvas. */
const KEPT_PIXELS = 48;

/**
 * @param {Size} drawing
 * @param {Size} canvas
 * @returns {Viewport} all of the drawing in the middle of the canvas
 */
export function fitted(drawing, canvas) {
  const across = (canvas.width - 2 * PADDING_PIXELS) / (drawing.width + 1);
  const down = (canvas.height - 2 * PADDING_PIXELS) / (drawing.height + 1);
  const scale = Math.max(1e-6, Math.min(across, down, GREATEST_FIT));
  return Object.freeze({
    scale,
    left: (canvas.width - drawing.width * scale) / 2,
    top: (canvas.height - drawing.height * scale) / 2,
  });
}

/**
 * @param {Viewport} view
 * @param {number} factor above 1: closer
 * @param {{ x: number, y: number }} at the pixel that stays in its place
 * @param {Size} drawing
 * @param {Size} canvas
 * @returns {Viewport}
 */
export function zoomed(view, factor, at, drawing, canvas) {
  const least = Math.min(view.scale, fitted(drawing, canvas).scale / 2);
  const scale = Math.max(least, Math.min(GREATEST_SCALE, view.scale * factor));
  const by = scale / view.scale;
  return kept({ scale, left: at.x - (at.x - view.left) * by, top: at.y - (at.y - view.top) * by }, drawing, canvas);
}

/**
 * @param {Viewport} view
 * @param {number} right pixels
 * @param {number} down pixels
 * @param {Size} drawing
 * @param {Size} canvas
 * @returns {Viewport}
 */
export function panned(view, right, down, drawing, canvas) {
  return kept({ scale: view.scale, left: view.left + right, top: view.top + down }, drawing, canvas);
}

/**
 * Show a place in the middle, close enough to read unless the view is closer already.
 *
 * @param {Viewport} view
 * @param {{ x: number, y: number }} place of the drawing
 * @param {number} scale at least
 * @param {Size} canvas
 * @returns {Viewport}
 */
export function centred(view, place, scale, canvas) {
  const closer = Math.max(view.scale, scale);
  return Object.freeze({
    scale: closer,
    left: canvas.width / 2 - place.x * closer,
    top: canvas.height / 2 - place.y * closer,
  });
}

/**
 * @param {Viewport} view
 * @param {{ x: ArrayLike<number>, y: ArrayLike<number> }} places
 * @param {number} node
 * @returns {{ x: number, y: number }} its pixel
 */
export function pixelAt({ scale, left, top }, { x, y }, node) {
  return { x: left + x[node] * scale, y: top + y[node] * scale };
}

/**
 * @param {Viewport} view
 * @param {Size} canvas
 * @param {number} [margin] pixels around the canvas
 * @returns {{ left: number, top: number, right: number, bottom: number }} the part of the drawing on the canvas
 */
export function seen(view, canvas, margin = 0) {
  return {
    left: (-margin - view.left) / view.scale,
    top: (-margin - view.top) / view.scale,
    right: (canvas.width + margin - view.left) / view.scale,
    bottom: (canvas.height + margin - view.top) / view.scale,
  };
}

/**
 * @param {Viewport} view
 * @param {Size} drawing
 * @param {Size} canvas
 * @returns {Viewport} moved so that some of the drawing stays on the canvas
 */
function kept({ scale, left, top }, drawing, canvas) {
  return Object.freeze({
    scale,
    left: Math.max(KEPT_PIXELS - drawing.width * scale, Math.min(canvas.width - KEPT_PIXELS, left)),
    top: Math.max(KEPT_PIXELS - drawing.height * scale, Math.min(canvas.height - KEPT_PIXELS, top)),
  });
}
