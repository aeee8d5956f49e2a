/** Places for labels: boxes that cover nothing. Pure. */

/**
 * @typedef {object} Box
 * @property {number} x of its left edge
 * @property {number} y of its upper edge
 * @property {number} width
 * @property {number} height
 */

const CELL = 48;

/**
 * Give each wish the first of its boxes that overlaps no taken box and none given before; null where there is none.
 *
 * @param {readonly Box[]} taken
 * @param {readonly (readonly Box[])[]} wishes the most important first
 * @returns {(Box | null)[]}
 */
export function freeBoxes(taken, wishes) {
  /** @type {Map<string, Box[]>} the boxes in each cell of a grid */
  const cells = new Map();
  for (const box of taken) {
    add(box);
  }
  return wishes.map((boxes) => {
    const free = boxes.find((box) => cellsOf(box).every((cell) => !(cells.get(cell) ?? []).some((other) => overlap(box, other))));
    if (free) {
      add(free);
    }
    return free ?? null;
  });

  /** @param {Box} box */
  function add(box) {
    for (const cell of cellsOf(box)) {
      const there = cells.get(cell);
      if (there) {
        there.push(box);
      } else {
        cells.set(cell, [box]);
      }
    }
  }
}

/** @param {Box} box */
function cellsOf({ x, y, width, height }) {
  const cells = [];
  for (let column = Math.floor(x / CELL); column <= Math.floor((x + width) / CELL); column += 1) {
    for (let row = Math.floor(y / CELL); row <= Math.floor((y + height) / CELL); row += 1) {
      cells.push(`${column} ${row}`);
    }
  }
  return cells;
}

/**
 * @param {Box} one
 * @param {Box} other
 */
function overlap(one, other) {
  return one.x < other.x + other.width && other.x < one.x + one.width && one.y < other.y + other.height && other.y < one.y + one.height;
}
