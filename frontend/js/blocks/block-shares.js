/** How the ops of blocks look, as shares of the time that they take. Pure. */

/**
 * @typedef {object} Share
 * @property {number} look
 * @property {number} share from 0 to 1; those of a block add up to 1
 * @property {number} timeUs
 *
 * @typedef {object} Block a part of the order of ops
 * @property {number} first
 * @property {number} end
 */

/**
 * Ops that take no time count only where all of a block's do, by their number.
 *
 * @param {readonly Block[]} blocks
 * @param {ArrayLike<number>} order [ops]
 * @param {ArrayLike<number>} lookOf [ops]
 * @param {ArrayLike<number>} timeUs [ops]
 * @param {number} looks how many there are
 * @returns {Share[][]} [blocks] by look
 */
export function sharesOf(blocks, order, lookOf, timeUs, looks) {
  const times = new Float64Array(looks);
  const ops = new Int32Array(looks);
  return blocks.map(({ first, end }) => {
    times.fill(0);
    ops.fill(0);
    for (let place = first; place < end; place += 1) {
      const op = order[place];
      times[lookOf[op]] += timeUs[op];
      ops[lookOf[op]] += 1;
    }
    const all = times.reduce((sum, each) => sum + each, 0);
    const weights = all > 0 ? times : ops;
    const whole = all > 0 ? all : end - first;
    /** @type {Share[]} */
    const shares = [];
    weights.forEach((weight, look) => weight > 0 && shares.push({ look, share: weight / whole, timeUs: times[look] }));
    return shares;
  });
}

/**
 * @param {readonly Block[]} blocks
 * @param {ArrayLike<number>} order [ops]
 * @param {ArrayLike<number>} timeUs [ops]
 * @returns {number[]} [blocks] the times of their ops, added up
 */
export function timesOf(blocks, order, timeUs) {
  return blocks.map(({ first, end }) => {
    let sum = 0;
    for (let place = first; place < end; place += 1) {
      sum += timeUs[order[place]];
    }
    return sum;
  });
}

/**
 * The equal parts of a fold, in the order of the data.
 *
 * @param {import("./block-tree.js").BlockNode} node
 * @returns {Block[]} empty: it is no fold
 */
export function membersOf({ row, first, end }) {
  const size = row.members > 0 ? (end - first) / row.members : 0;
  return Array.from({ length: row.members }, (_, member) => ({ first: first + member * size, end: first + (member + 1) * size }));
}

/**
 * @param {readonly Share[]} shares
 * @returns {number} the look of the largest one
 */
export function mainLook(shares) {
  return shares.reduce((most, each) => (each.share > most.share ? each : most), shares[0])?.look ?? 0;
}
