/** Announces changes to a screen reader, politely and at most every few seconds. */

import { setText } from "./dom.js";

const SECONDS_BETWEEN = 8;

export class Announcer {
  #region;
  #latest = "";
  #timer = 0;
  #last = -Infinity;

  /** @param {HTMLElement} region with aria-live="polite" */
  constructor(region) {
    this.#region = region;
  }

  /**
   * Announce `text` now, or once the last announcement is old enough; only the newest waits.
   *
   * @param {string} text
   * @param {{ urgent?: boolean }} [options] urgent: do not wait
   */
  say(text, { urgent = false } = {}) {
    this.#latest = text;
    const wait = urgent ? 0 : this.#last + SECONDS_BETWEEN * 1000 - performance.now();
    if (wait <= 0) {
      clearTimeout(this.#timer);
      this.#timer = 0;
      this.#speak();
    } else {
      this.#timer ||= window.setTimeout(() => {
        this.#timer = 0;
        this.#speak();
      }, wait);
    }
  }

  #speak() {
    this.#last = performance.now();
    setText(this.#region, this.#latest);
  }
}
