/**
 * Where the blocks are: the server has said in which strip, row and order the children of each opened block are; here each
 * gets the room that it takes, an opened one more than a closed one. Linear. Pure.
 */

/** @typedef {import("./block-tree.js").BlockNode} BlockNode */

/**
 * @typedef {object} Rectangle in units of the drawing: pixels at a zoom of 1
 * @property {number} x of its left side
 * @property {number} y of its upper side
 * @property {number} width
 * @property {number} height
 *
 * @typedef {{ width: number, height: number, places: Map<number, Rectangle> }} BlockLayout by key
 */

export const BLOCK = Object.freeze({ width: 172, height: 78 });
const OP = Object.freeze({ width: 148, height: 46 });
/** Of an opened block, above what is in it. */
export const HEAD = 30;
const PADDING = 14;
const COLUMN_GAP = 18;
const ROW_GAP = 32;
const STRIP_GAP = 44;

/**
 * @param {readonly BlockNode[]} roots
 * @returns {BlockLayout}
 */
export function blockLayout(roots) {
  const places = new Map();
  const size = arranged(roots, places);
  placed(roots, 0, 0, places);
  return { ...size, places };
}

/**
 * Sizes and places of the nodes, from the left upper corner of what they are in.
 *
 * @param {readonly BlockNode[]} nodes of one block
 * @param {Map<number, Rectangle>} places
 * @returns {{ width: number, height: number }} of all of them
 */
function arranged(nodes, places) {
  for (const node of nodes) {
    const size = node.children.length > 0 ? arranged(node.children, places) : null;
    const closed = node.row.block === null ? OP : BLOCK;
    places.set(node.key, { x: 0, y: 0, width: size ? Math.max(BLOCK.width, size.width + 2 * PADDING) : closed.width, height: size ? size.height + HEAD + PADDING : closed.height });
  }
  const strips = [...grouped(nodes, ({ row }) => row.strip)].sort(([one], [other]) => one - other).map(([number, inside]) => ({ number, nodes: inside, ...inStrip(inside, places) }));
  const height = strips.reduce((most, strip) => Math.max(most, strip.height), 0);
  let left = 0;
  for (const strip of strips) {
    const down = strip.number % 2 === 1 ? height - strip.height : 0; // it leads up, from the end of the one before
    for (const { key } of strip.nodes) {
      const place = /** @type {Rectangle} */ (places.get(key));
      place.x += left - strip.left;
      place.y += down;
    }
    left += strip.width + STRIP_GAP;
  }
  return { width: Math.max(0, left - STRIP_GAP), height };
}

/**
 * @param {readonly BlockNode[]} nodes
 * @param {Map<number, Rectangle>} places
 * @returns {{ left: number, width: number, height: number }}
 */
function inStrip(nodes, places) {
  let [left, right, top] = [Infinity, -Infinity, 0];
  for (const [, row] of [...grouped(nodes, (node) => node.row.y)].sort(([one], [other]) => one - other)) {
    const ordered = [...row].sort((one, other) => one.row.x - other.row.x);
    const rectangles = ordered.map(({ key }) => /** @type {Rectangle} */ (places.get(key)));
    const height = rectangles.reduce((most, each) => Math.max(most, each.height), 0);
    const wider = rectangles.map(({ width }) => Math.max(0, width - BLOCK.width));
    let before = -wider.reduce((sum, each) => sum + each, 0) / 2;
    rectangles.forEach((place, index) => {
      const centre = ordered[index].row.x * (BLOCK.width + COLUMN_GAP) + before + wider[index] / 2;
      before += wider[index];
      Object.assign(place, { x: centre - place.width / 2, y: top + (height - place.height) / 2 });
      [left, right] = [Math.min(left, place.x), Math.max(right, place.x + place.width)];
    });
    top += height + ROW_GAP;
  }
  return { left, width: right - left, height: top - ROW_GAP };
}

/**
 * Move nodes and what is in them to where their block is.
 *
 * @param {readonly BlockNode[]} nodes
 * @param {number} x
 * @param {number} y
 * @param {Map<number, Rectangle>} places
 */
function placed(nodes, x, y, places) {
  for (const { key, children } of nodes) {
    const place = /** @type {Rectangle} */ (places.get(key));
    place.x += x;
    place.y += y;
    const width = children.reduce((most, child) => Math.max(most, /** @type {Rectangle} */ (places.get(child.key)).x + /** @type {Rectangle} */ (places.get(child.key)).width), 0);
    placed(children, place.x + Math.max(PADDING, (place.width - width) / 2), place.y + HEAD, places);
  }
}

/**
 * @template Value
 * @param {readonly Value[]} values
 * @param {(value: Value) => number} keyOf
 * @returns {Map<number, Value[]>}
 */
function grouped(values, keyOf) {
  /** @type {Map<number, Value[]>} */
  const found = new Map();
  for (const value of values) {
    const key = keyOf(value);
    const known = found.get(key);
    if (known) {
      known.push(value);
    } else {
      found.set(key, [value]);
    }
  }
  return found;
}
