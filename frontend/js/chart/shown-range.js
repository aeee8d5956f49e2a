/** The part of a horizontal axis that all drawings on it show. */

/**
 * @param {readonly [number, number]} domain
 * @param {number} least
 * @param {readonly [number, number]} whole
 * @returns {[number, number]} the domain within the whole, neither shorter than `least` nor longer than the whole
 */
export function fitted([low, high], least, [from, to]) {
  const length = Math.min(to - from, Math.max(least, high - low));
  const middle = (low + high) / 2;
  const start = Math.max(from, Math.min(to - length, middle - length / 2));
  return [start, start + length];
}

export class ShownRange {
  #whole;
  #least;
  /** @type {[number, number]} */
  #domain;
  /** @type {(() => void)[]} */
  #listeners = [];

  /**
   * @param {readonly [number, number]} whole
   * @param {number} least length of the closest zoom
   */
  constructor(whole, least) {
    this.#whole = whole;
    this.#least = least;
    this.#domain = fitted(whole, least, whole);
  }

  /** @returns {readonly [number, number]} */
  get domain() {
    return this.#domain;
  }

  /** @returns {readonly [number, number]} */
  get whole() {
    return this.#whole;
  }

  /** @returns {boolean} */
  get showsAll() {
    const length = this.#whole[1] - this.#whole[0];
    return this.#domain[1] - this.#domain[0] >= length * (1 - 1e-9);
  }

  /** @param {() => void} act after each change */
  onChange(act) {
    this.#listeners.push(act);
  }

  /**
   * Take another whole: what shows all of it goes on doing so, a zoom stays where it is.
   *
   * @param {readonly [number, number]} whole
   * @param {number} [least]
   */
  setWhole(whole, least = this.#least) {
    if (whole[0] !== this.#whole[0] || whole[1] !== this.#whole[1] || least !== this.#least) {
      const domain = this.showsAll ? whole : this.#domain;
      this.#whole = whole;
      this.#least = least;
      this.show(domain);
    }
  }

  fit() {
    this.show(this.#whole);
  }

  /**
   * @param {number} factor above 1: closer
   * @param {number} [value] what stays in its place, the middle by default
   */
  zoom(factor, value = (this.#domain[0] + this.#domain[1]) / 2) {
    this.show([value - (value - this.#domain[0]) / factor, value + (this.#domain[1] - value) / factor]);
  }

  /** @param {number} share of what is shown, above 0 to see what comes later */
  pan(share) {
    const by = share * (this.#domain[1] - this.#domain[0]);
    this.show([this.#domain[0] + by, this.#domain[1] + by]);
  }

  /** @param {readonly [number, number]} domain */
  show(domain) {
    const [low, high] = fitted(domain, this.#least, this.#whole);
    if (low !== this.#domain[0] || high !== this.#domain[1]) {
      this.#domain = [low, high];
      for (const act of this.#listeners) {
        act();
      }
    }
  }

  /**
   * Make the span visible, with some room around it.
   *
   * @param {readonly [number, number]} span
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
