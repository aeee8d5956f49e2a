/** Which part of a drawing is shown: pure values. */

/**
 * @typedef {object} Viewport
 * @property {number} zoom pixels of a unit of the drawing
 * @property {number} x pixel of the drawing's x = 0
 * @property {number} y pixel of its y = 0
 *
 * @typedef {{ width: number, height: number }} Size in pixels, or in units of the drawing
 */

const PADDING_PIXELS = 20;
const GREATEST_ZOOM = 90;
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
  const zoom = Math.max(1e-6, Math.min(across, down, GREATEST_FIT));
  return Object.freeze({
    zoom,
    x: (canvas.width - drawing.width * zoom) / 2,
    y: (canvas.height - drawing.height * zoom) / 2,
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
  const least = Math.min(view.zoom, fitted(drawing, canvas).zoom / 2);
  const zoom = Math.max(least, Math.min(GREATEST_ZOOM, view.zoom * factor));
  const by = zoom / view.zoom;
  return kept({ zoom, x: at.x - (at.x - view.x) * by, y: at.y - (at.y - view.y) * by }, drawing, canvas);
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
  return kept({ zoom: view.zoom, x: view.x + right, y: view.y + down }, drawing, canvas);
}

/**
 * Show a place in the middle, close enough to read unless the view is closer already.
 *
 * @param {Viewport} view
 * @param {{ x: number, y: number }} place of the drawing
 * @param {number} zoom at least
 * @param {Size} canvas
 * @returns {Viewport}
 */
export function centred(view, place, zoom, canvas) {
  const closer = Math.max(view.zoom, zoom);
  return Object.freeze({
    zoom: closer,
    x: canvas.width / 2 - place.x * closer,
    y: canvas.height / 2 - place.y * closer,
  });
}

/**
 * @param {Viewport} view
 * @param {{ x: ArrayLike<number>, y: ArrayLike<number> }} places
 * @param {number} node
 * @returns {{ x: number, y: number }} its pixel
 */
export function pixelAt(view, { x, y }, node) {
  return { x: view.x + x[node] * view.zoom, y: view.y + y[node] * view.zoom };
}

/**
 * @param {Viewport} view
 * @param {Size} canvas
 * @param {number} [margin] pixels around the canvas
 * @returns {{ left: number, top: number, right: number, bottom: number }} the part of the drawing on the canvas
 */
export function seen(view, canvas, margin = 0) {
  return {
    left: (-margin - view.x) / view.zoom,
    top: (-margin - view.y) / view.zoom,
    right: (canvas.width + margin - view.x) / view.zoom,
    bottom: (canvas.height + margin - view.y) / view.zoom,
  };
}

/**
 * @param {Viewport} view
 * @param {Size} drawing
 * @param {Size} canvas
 * @returns {Viewport} moved so that some of the drawing stays on the canvas
 */
function kept({ zoom, x, y }, drawing, canvas) {
  return Object.freeze({
    zoom,
    x: Math.max(KEPT_PIXELS - drawing.width * zoom, Math.min(canvas.width - KEPT_PIXELS, x)),
    y: Math.max(KEPT_PIXELS - drawing.height * zoom, Math.min(canvas.height - KEPT_PIXELS, y)),
  });
}
