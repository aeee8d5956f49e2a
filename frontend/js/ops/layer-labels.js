/** The names of layers and modules over the picture of all ops, which has no room for names of ops from afar. */

import { freeBoxes } from "../graph/free-boxes.js";
import { cutName } from "../ui/format.js";

/**
 * @typedef {object} Layer
 * @property {string} name
 * @property {number} count of its ops
 * @property {number} x of the op in its middle
 * @property {number} y
 */

const LEAST_OPS = 4;
/** A layer with more of all ops says nothing of where one looks. */
const MOST_SHARE = 0.6;
const MOST_LAYERS = 3000;
const MOST_WISHES = 150;
const LONGEST_NAME = 26;
const FONT_PIXELS = 11;
const ROOM_PIXELS = 6;

/**
 * The layers of a graph, those with most ops first; each stands at the op that is nearest to the middle of its ops.
 *
 * @param {readonly string[]} names [ops] with the layers before slashes
 * @param {ArrayLike<number>} x [ops]
 * @param {ArrayLike<number>} y [ops]
 * @returns {Layer[]}
 */
export function layersWithPlaces(names, x, y) {
  /** @type {Map<string, number>} */
  const ids = new Map();
  /** @type {{ name: string, parent: number, count: number, x: number, y: number, op: number, distance: number }[]} each behind the one around it */
  const layers = [];
  const of = Int32Array.from(names, (name) => idOf(name.slice(0, Math.max(0, name.lastIndexOf("/")))));
  of.forEach((id, op) => id >= 0 && add(layers[id], 1, x[op], y[op]));
  for (const { parent, count, x: sumX, y: sumY } of layers.toReversed()) {
    if (parent >= 0) {
      add(layers[parent], count, sumX, sumY);
    }
  }
  of.forEach((innermost, op) => {
    for (let id = innermost; id >= 0; id = layers[id].parent) {
      const layer = layers[id];
      const distance = (x[op] - layer.x / layer.count) ** 2 + (y[op] - layer.y / layer.count) ** 2;
      if (distance < layer.distance) {
        [layer.op, layer.distance] = [op, distance];
      }
    }
  });
  const told = layers.filter(({ count }) => count >= LEAST_OPS && count <= MOST_SHARE * names.length);
  told.sort((one, other) => other.count - one.count);
  return told.slice(0, MOST_LAYERS).map(({ name, count, op }) => ({ name, count, x: x[op], y: y[op] }));

  /** @param {string} name @returns {number} −1 for none */
  function idOf(name) {
    if (name === "") {
      return -1;
    }
    let id = ids.get(name);
    if (id === undefined) {
      const parent = idOf(name.slice(0, Math.max(0, name.lastIndexOf("/"))));
      id = layers.push({ name, parent, count: 0, x: 0, y: 0, op: -1, distance: Infinity }) - 1;
      ids.set(name, id);
    }
    return id;
  }
}

/**
 * @param {{ count: number, x: number, y: number }} layer
 * @param {number} count
 * @param {number} x
 * @param {number} y
 */
function add(layer, count, x, y) {
  layer.count += count;
  layer.x += x;
  layer.y += y;
}

/**
 * Write the names of those layers that are seen and find room, the largest first.
 *
 * @param {CanvasRenderingContext2D} context
 * @param {readonly Layer[]} layers the largest first
 * @param {import("../drawing/viewport.js").Viewport} view
 * @param {{ width: number, height: number }} size
 * @param {{ text: string, halo: string, font: string }} look
 */
export function drawLayers(context, layers, { zoom, x: left, y: top }, { width, height }, { text, halo, font }) {
  context.save();
  context.font = `600 ${FONT_PIXELS}px ${font}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  /** @type {{ words: string, x: number, y: number, box: import("../graph/free-boxes.js").Box }[]} */
  const wishes = [];
  for (const layer of layers) {
    const at = { x: left + layer.x * zoom, y: top + layer.y * zoom };
    if (at.x > 0 && at.y > 0 && at.x < width && at.y < height) {
      const words = cutName(layer.name, LONGEST_NAME);
      const room = context.measureText(words).width + 2 * ROOM_PIXELS;
      const centre = Math.min(Math.max(at.x, room / 2), width - room / 2);
      wishes.push({ words, x: centre, y: at.y, box: { x: centre - room / 2, y: at.y - FONT_PIXELS, width: room, height: 2 * FONT_PIXELS } });
      if (wishes.length === MOST_WISHES) {
        break;
      }
    }
  }
  context.lineJoin = "round";
  context.lineWidth = 4;
  context.strokeStyle = halo;
  context.fillStyle = text;
  freeBoxes([], wishes.map(({ box }) => [box])).forEach((box, index) => {
    if (box) {
      const { words, x, y } = wishes[index];
      context.strokeText(words, x, y);
      context.fillText(words, x, y);
    }
  });
  context.restore();
}
