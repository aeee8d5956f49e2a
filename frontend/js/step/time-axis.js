/** The part of a step that all drawings of it show. */

/** A zoom shows at least this share of the step. */
const LEAST_SHARE = 1e-5;

/**
 * @param {readonly [number, number]} domain
 * @param {number} least
 * @param {number} most length of the whole, from 0
 * @returns {[number, number]} the domain within 0 to `most`, neither shorter than `least` nor longer than the whole
 */
export function fitted([low, high], least, most) {
  const length = Math.min(most, Math.max(least, high - low));
  const middle = (low + high) / 2;
  const from = Math.max(0, Math.min(most - length, middle - length / 2));
  return [from, from + length];
}

/**
 * @param {number} width of a drawing in pixels
 * @returns {number} the pixels left of the axis, for the names of devices: equal in all drawings of one width
 */
export function gutterOf(width) {
  return width < 560 ? 66 : 112;
}

export class TimeAxis {
  #whole = 1;
  /** @type {[number, number]} */
  #domain = [0, 1];
  /** @type {(() => void)[]} */
  #listeners = [];

  /** @returns {readonly [number, number]} in µs */
  get domain() {
    return this.#domain;
  }

  /** @returns {boolean} */
  get showsAll() {
    return this.#domain[1] - this.#domain[0] >= this.#whole * (1 - 1e-9);
  }

  /** @param {() => void} act after each change */
  onChange(act) {
    this.#listeners.push(act);
  }

  /**
   * Take a step of another length; a zoom keeps its shares of the step.
   *
   * @param {number} us
   */
  setLength(us) {
    const whole = Math.max(us, Number.MIN_VALUE);
    const factor = whole / this.#whole;
    this.#whole = whole;
    this.show([this.#domain[0] * factor, this.#domain[1] * factor]);
  }

  fit() {
    this.show([0, this.#whole]);
  }

  /**
   * @param {number} factor above 1: closer
   * @param {number} [us] what stays in its place, the middle by default
   */
  zoom(factor, us = (this.#domain[0] + this.#domain[1]) / 2) {
    this.show([us - (us - this.#domain[0]) / factor, us + (this.#domain[1] - us) / factor]);
  }

  /** @param {number} share of what is shown, above 0 to see later times */
  pan(share) {
    const by = share * (this.#domain[1] - this.#domain[0]);
    this.show([this.#domain[0] + by, this.#domain[1] + by]);
  }

  /** @param {readonly [number, number]} domain in µs */
  show(domain) {
    this.#domain = fitted(domain, this.#whole * LEAST_SHARE, this.#whole);
    for (const act of this.#listeners) {
      act();
    }
  }

  /**
   * Make the times visible, with some room around them.
   *
   * @param {readonly [number, number]} span in µs
   */
  reveal([start, end]) {
    const [low, high] = this.#domain;
    if (start < low || end > high) {
      const length = Math.max(high - low, (end - start) * 1.5);
      const middle = (start + end) / 2;
      this.show([middle - length / 2, middle + length / 2]);
    }
  }
}
