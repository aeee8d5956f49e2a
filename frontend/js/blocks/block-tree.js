/** Which blocks of a graph are open, and so which blocks and ops are seen. Pure but for what is opened. */

/** @typedef {import("../ui/contracts.js").OpenBlock} OpenBlock */
/** @typedef {import("../ui/contracts.js").BlockRow} BlockRow */

/**
 * @typedef {object} BlockNode a block or an op that is seen
 * @property {number} key the number of a block, −1 − the index of an op
 * @property {BlockRow} row
 * @property {BlockNode | null} parent null: right in the graph
 * @property {number} depth
 * @property {number} first where its ops begin in the order of the blocks
 * @property {number} end
 * @property {readonly BlockNode[]} children empty: it is closed
 */

/** The block around all others. */
export const ROOT = 0;

export class BlockTree {
  /** @type {Map<number, OpenBlock>} what the server has said of blocks */
  #known = new Map();
  /** @type {ReadonlySet<number>} */
  #open = new Set();
  /** @type {readonly BlockNode[]} */
  #roots = [];
  /** @type {Map<number, BlockNode>} */
  #nodes = new Map();

  /** @param {OpenBlock} root */
  constructor(root) {
    this.know(root);
    this.show([]);
  }

  /** @param {OpenBlock} opened */
  know(opened) {
    this.#known.set(opened.block, opened);
  }

  /** @param {number} block */
  knows(block) {
    return this.#known.has(block);
  }

  /**
   * @param {number} block
   * @returns {readonly BlockRow[]} what is right in it, as far as it is known
   */
  rowsOf(block) {
    return this.#known.get(block)?.children ?? [];
  }

  /**
   * Open these blocks and close all others; of a block inside a closed one, or of which nothing is known, nothing is seen.
   *
   * @param {readonly number[]} blocks
   */
  show(blocks) {
    this.#open = new Set(blocks);
    this.#nodes = new Map();
    this.#roots = this.#childrenOf(ROOT, null);
  }

  /** @returns {readonly BlockNode[]} right in the graph */
  get roots() {
    return this.#roots;
  }

  /** @returns {Iterable<BlockNode>} all that are seen, each before what is in it */
  get nodes() {
    return this.#nodes.values();
  }

  /** @returns {number[]} the open blocks that are seen */
  get open() {
    return [...this.#nodes.values()].filter(({ children }) => children.length > 0).map(({ key }) => key);
  }

  /** @returns {BlockNode[]} closed blocks and ops, in the order of their ops */
  leaves() {
    return [...this.#nodes.values()].filter(({ children }) => children.length === 0);
  }

  /** @param {number} key */
  node(key) {
    return this.#nodes.get(key) ?? null;
  }

  /**
   * @param {number} block
   * @param {BlockNode | null} parent
   * @returns {readonly BlockNode[]}
   */
  #childrenOf(block, parent) {
    return this.rowsOf(block).map((row) => {
      /** @type {BlockNode} */
      const node = { key: row.block ?? -1 - Number(row.op), row, parent, depth: parent ? parent.depth + 1 : 0, first: row.first, end: row.first + row.ops, children: [] };
      this.#nodes.set(node.key, node);
      if (row.block !== null && this.#open.has(row.block)) {
        node.children = this.#childrenOf(row.block, node);
      }
      return node;
    });
  }
}

/**
 * @param {readonly BlockNode[]} leaves
 * @param {ArrayLike<number>} order [ops]
 * @returns {Int32Array} [ops] the leaf that each op is in
 */
export function leafOfOps(leaves, order) {
  const leafOf = new Int32Array(order.length).fill(-1);
  leaves.forEach(({ first, end }, leaf) => {
    for (let place = first; place < end; place += 1) {
      leafOf[order[place]] = leaf;
    }
  });
  return leafOf;
}

/**
 * The groups of a block: those with more than half of their ops in it; of a block with none of these, the one that most of
 * its ops are in.
 *
 * @param {BlockNode} node
 * @param {{ order: ArrayLike<number>, group: ArrayLike<number> }} graph
 * @param {readonly { ops: number }[]} groups
 * @returns {{ own: number[], others: number }} `others`: how many groups it has ops of that are not its own
 */
export function groupsOf({ first, end }, { order, group }, groups) {
  /** @type {Map<number, number>} */
  const ops = new Map();
  for (let place = first; place < end; place += 1) {
    const each = group[order[place]];
    ops.set(each, (ops.get(each) ?? 0) + 1);
  }
  const held = [...ops].sort(([one], [other]) => one - other);
  const own = held.filter(([each, count]) => 2 * count > groups[each].ops);
  const most = held.reduce((best, each) => (each[1] > best[1] ? each : best), held[0]);
  const found = own.length > 0 ? own : [most];
  return { own: found.map(([each]) => each), others: held.length - found.length };
}
