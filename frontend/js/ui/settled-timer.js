/** Acts once nothing has changed for a while. */

/**
 * A frame that takes longer than the wait is no rest: what moves on in the next frame comes first, and may start the
 * wait anew.
 */
export class SettledTimer {
  #timer = 0;
  #frame = 0;

  /** @returns {boolean} whether it is to act */
  get waits() {
    return this.#timer !== 0 || this.#frame !== 0;
  }

  /**
   * Wait, anew if it waits already.
   *
   * @param {number} milliseconds
   * @param {() => void} act
   */
  start(milliseconds, act) {
    this.stop();
    this.#timer = window.setTimeout(() => {
      this.#timer = 0;
      this.#frame = requestAnimationFrame(() => {
        this.#frame = 0;
        act();
      });
    }, milliseconds);
  }

  stop() {
    window.clearTimeout(this.#timer);
    cancelAnimationFrame(this.#frame);
    [this.#timer, this.#frame] = [0, 0];
  }
}
