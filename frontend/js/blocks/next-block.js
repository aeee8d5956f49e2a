/** Which block an arrow key leads to. Pure. */

/** @typedef {import("./block-layout.js").Rectangle} Rectangle */

/** @type {Readonly<Record<string, readonly [number, number]>>} */
const WAYS = Object.freeze({ ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] });
/** So much more does a way to the side count than one ahead. */
const ASIDE = 2.5;
/** What is further to the side than this is not that way: so much of it is ahead at least. */
const LEAST_AHEAD = 0.3;

/**
 * @param {string} arrow
 * @param {Rectangle} from
 * @param {Iterable<[number, Rectangle]>} places of closed blocks, ops, and the heads of opened blocks, by key
 * @returns {number | null} the key of the nearest one that way; null: there is none
 */
export function nextBlock(arrow, from, places) {
  const [across, down] = WAYS[arrow];
  const start = centre(from);
  let nearest = Infinity;
  let found = null;
  for (const [key, place] of places) {
    const to = centre(place);
    const ahead = (to.x - start.x) * across + (to.y - start.y) * down;
    const aside = Math.abs((to.x - start.x) * down) + Math.abs((to.y - start.y) * across);
    const distance = ahead + ASIDE * aside;
    if (ahead > Math.max(1, LEAST_AHEAD * aside) && distance < nearest) {
      [nearest, found] = [distance, key];
    }
  }
  return found;
}

/** @param {Rectangle} place */
function centre({ x, y, width, height }) {
  return { x: x + width / 2, y: y + height / 2 };
}
