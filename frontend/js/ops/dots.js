/** Draws nodes as squares straight into pixels: in time for each frame, however many nodes there are. */

/**
 * @typedef {object} Pixels
 * @property {Uint32Array} data [height × width] one colour a pixel, as `packed` gives it; 0 is transparent
 * @property {number} width
 * @property {number} height
 */

/**
 * @param {string} hex `#rrggbb`
 * @returns {number} the colour as 32 bits of an image on a little-endian machine: every one that has a browser
 */
export function packed(hex) {
  const rgb = Number.parseInt(hex.slice(1, 7), 16);
  return ((255 << 24) | ((rgb & 255) << 16) | (rgb & 0xff00) | (rgb >> 16)) >>> 0;
}

/**
 * @param {string} hex `#rrggbb`
 * @param {string} other `#rrggbb`
 * @param {number} share of the first
 * @returns {string} `#rrggbb`
 */
export function mixed(hex, other, share) {
  const parts = [1, 3, 5].map((at) => {
    const [one, two] = [hex, other].map((text) => Number.parseInt(text.slice(at, at + 2), 16));
    return Math.round(one * share + two * (1 - share)).toString(16).padStart(2, "0");
  });
  return `#${parts.join("")}`;
}

/**
 * @param {Pixels} pixels
 * @param {number} x of the middle
 * @param {number} y
 * @param {number} side in pixels, at least 1
 * @param {number} colour
 */
export function square({ data, width, height }, x, y, side, colour) {
  const left = Math.round(x - side / 2);
  const top = Math.round(y - side / 2);
  const from = Math.max(0, left);
  const to = Math.min(width, left + side);
  const bottom = Math.min(height, top + side);
  for (let row = Math.max(0, top); row < bottom; row += 1) {
    const begin = row * width;
    for (let at = begin + from; at < begin + to; at += 1) {
      data[at] = colour;
    }
  }
}

/**
 * @typedef {object} Dots
 * @property {ArrayLike<number>} x [nodes]
 * @property {ArrayLike<number>} y [nodes]
 * @property {ArrayLike<number>} sizes [nodes]
 * @property {Uint32Array} colours [nodes]
 */

/**
 * @param {Pixels} pixels
 * @param {import("../drawing/viewport.js").Viewport} view whose pixels are those of `pixels`
 * @param {Dots} dots
 * @param {(act: (node: number) => void) => void} each calls `act` for each node that may be seen
 */
export function drawDots(pixels, { zoom: scale, x: left, y: top }, { x, y, sizes, colours }, each) {
  each((node) => {
    const side = Math.max(1, Math.round(sizes[node] * scale));
    square(pixels, left + x[node] * scale, top + y[node] * scale, side, colours[node]);
  });
}
