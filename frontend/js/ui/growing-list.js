/** An immutable list that grows at its end without copying: older, shorter lists stay valid. */

/**
 * Lists of one history share their items, and each shows its own number of them. Items are copied only when an older
 * list grows a second time.
 *
 * @template Item
 */
export class GrowingList {
  /**
   * @param {Item[]} [items] owned by this list, and shared with lists that grow from it
   * @param {number} [length]
   */
  constructor(items = [], length = items.length) {
    this.items = items;
    this.length = length;
    Object.freeze(this);
  }

  /**
   * @param {readonly Item[]} more
   * @returns {GrowingList<Item>}
   */
  with(more) {
    if (more.length === 0) {
      return this;
    }
    const items = this.items.length === this.length ? this.items : this.items.slice(0, this.length);
    for (const item of more) {
      items.push(item);
    }
    return new GrowingList(items);
  }

  /**
   * @param {number} index
   * @returns {Item | undefined}
   */
  at(index) {
    return index < this.length ? this.items[index] : undefined;
  }

  /** @returns {Item | undefined} */
  get last() {
    return this.items[this.length - 1];
  }

  /** @returns {readonly Item[]} for reading at once: the newest list returns it without a copy */
  whole() {
    return this.items.length === this.length ? this.items : this.items.slice(0, this.length);
  }
}
