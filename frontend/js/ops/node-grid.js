/** Nodes by place: which are in a box, which is the nearest to a point. */

/** About so many nodes a cell. */
const NODES_A_CELL = 4;

export class NodeGrid {
  #x;
  #y;
  #columns;
  #rows;
  #cell;
  #first;
  #nodes;

  /**
   * @param {ArrayLike<number>} x [nodes] at least 0
   * @param {ArrayLike<number>} y [nodes] at least 0
   * @param {number} width the greatest x
   * @param {number} height the greatest y
   */
  constructor(x, y, width, height) {
    this.#x = x;
    this.#y = y;
    const area = (width + 1) * (height + 1);
    this.#cell = Math.max(1, Math.sqrt((area * NODES_A_CELL) / Math.max(1, x.length)));
    this.#columns = Math.floor(width / this.#cell) + 1;
    this.#rows = Math.floor(height / this.#cell) + 1;
    this.#first = new Int32Array(this.#columns * this.#rows + 1);
    for (let node = 0; node < x.length; node += 1) {
      this.#first[this.#cellOf(x[node], y[node]) + 1] += 1;
    }
    for (let cell = 0; cell < this.#first.length - 1; cell += 1) {
      this.#first[cell + 1] += this.#first[cell];
    }
    const next = this.#first.slice();
    this.#nodes = new Int32Array(x.length);
    for (let node = 0; node < x.length; node += 1) {
      this.#nodes[next[this.#cellOf(x[node], y[node])]++] = node;
    }
  }

  /**
   * @param {{ left: number, top: number, right: number, bottom: number }} box
   * @param {(node: number) => void} act for each node in it, and for some near it
   */
  inBox({ left, top, right, bottom }, act) {
    const [from, to] = [this.#column(left), this.#column(right)];
    for (let row = this.#row(top); row <= this.#row(bottom); row += 1) {
      const [begin, end] = [this.#first[row * this.#columns + from], this.#first[row * this.#columns + to + 1]];
      for (let place = begin; place < end; place += 1) {
        act(this.#nodes[place]);
      }
    }
  }

  /**
   * @param {number} x
   * @param {number} y
   * @param {number} reach
   * @returns {number} the nearest node within `reach`, -1 for none
   */
  nearest(x, y, reach) {
    let best = -1;
    let least = reach * reach;
    this.inBox({ left: x - reach, top: y - reach, right: x + reach, bottom: y + reach }, (node) => {
      const away = (this.#x[node] - x) ** 2 + (this.#y[node] - y) ** 2;
      if (away < least || (away === least && best < 0)) {
        [best, least] = [node, away];
      }
    });
    return best;
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  #cellOf(x, y) {
    return this.#row(y) * this.#columns + this.#column(x);
  }

  /** @param {number} x */
  #column(x) {
    return Math.max(0, Math.min(this.#columns - 1, Math.floor(x / this.#cell)));
  }

  /** @param {number} y */
  #row(y) {
    return Math.max(0, Math.min(this.#rows - 1, Math.floor(y / this.#cell)));
  }
}
