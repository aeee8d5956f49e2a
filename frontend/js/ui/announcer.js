/** Announces to a screen reader what happens, politely and seldom. */

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
   * Say `text` now, or once the last thing said is old enough; only the newest is kept.
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
