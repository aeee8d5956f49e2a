/** The part of a step that all drawings of it show. */

import { ShownRange } from "../chart/shown-range.js";

/** A zoom shows at least this share of the step. */
const LEAST_SHARE = 1e-5;

/**
 * @param {number} width of a drawing in pixels
 * @returns {number} the pixels left of the axis, for the names of devices: equal in all drawings of one width
 */
export function gutterOf(width) {
  return width < 560 ? 66 : 112;
}

/** Times of a step in µs, from 0. */
export class TimeAxis extends ShownRange {
  constructor() {
    super([0, 1], LEAST_SHARE);
  }

  /**
   * Take a step of another length; a zoom keeps its shares of the step.
   *
   * @param {number} us
   */
  setLength(us) {
    const end = Math.max(us, Number.MIN_VALUE);
    const factor = end / this.whole[1];
    const [low, high] = this.domain;
    this.setWhole([0, end], end * LEAST_SHARE);
    this.show([low * factor, high * factor]);
  }
}
