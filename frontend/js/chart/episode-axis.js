/** The axis of episode numbers that the charts of a run share: what they show, and the episode under the pointer. */

import { ShownRange } from "./shown-range.js";

/** A zoom shows at least so many episodes. */
const LEAST_EPISODES = 8;

export class EpisodeAxis extends ShownRange {
  /** @type {number | null} */
  #pointed = null;
  /** @type {(() => void)[]} */
  #pointing = [];

  constructor() {
    super([1, 20], LEAST_EPISODES);
  }

  /** @returns {number | null} the number that the pointer is on, in whichever chart */
  get pointed() {
    return this.#pointed;
  }

  /** @param {() => void} act after the pointer has moved to another number, or away */
  onPoint(act) {
    this.#pointing.push(act);
  }

  /** @param {number | null} number */
  point(number) {
    if (number !== this.#pointed) {
      this.#pointed = number;
      for (const act of this.#pointing) {
        act();
      }
    }
  }

  /** @param {number} number make it visible, and leave the zoom as it is */
  revealEpisode(number) {
    const [low, high] = this.domain;
    if (number < low || number > high) {
      const half = (high - low) / 2;
      this.show([number - half, number + half]);
    }
  }
}
