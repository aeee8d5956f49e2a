/** A list that grows at its end, as a value: each length it had stays as it was, and growing copies nothing. */

/**
 * Lists of one history share their items; each sees as many as there were when it was made. Only where an older one
 * grows another way are its items copied.
 *
 * @template Item
 */
export class GrowingList {
  /**
   * @param {Item[]} [items] taken over, and shared with what grows out of this list
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

  /** @returns {readonly Item[]} for reading at once: of the newest list it is no copy */
  whole() {
    return this.items.length === this.length ? this.items : this.items.slice(0, this.length);
  }
}
