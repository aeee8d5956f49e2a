/** The improvements as marks on the slider of the player. */

import { element } from "../ui/dom.js";

/** Marks nearer to each other than this share of the slider are one. */
const LEAST_DISTANCE = 0.004;

export class ImprovementMarks {
  #host;
  #written = "";

  /** @param {HTMLElement} host lies over the slider's track, from the middle of its thumb at one end to that at the other */
  constructor(host) {
    this.#host = host;
  }

  /**
   * @param {readonly number[]} indices of the improvements, ascending
   * @param {number} length number of episodes
   */
  show(indices, length) {
    const shares = markShares(indices, length);
    const text = shares.join();
    if (text !== this.#written) {
      this.#written = text;
      this.#host.replaceChildren(...shares.map(markAt));
    }
  }
}

/**
 * @param {readonly number[]} indices ascending
 * @param {number} length number of episodes
 * @returns {number[]} where the marks stand, from 0 to 1; the last of those that would touch
 */
export function markShares(indices, length) {
  /** @type {number[]} */
  const shares = [];
  for (const index of indices) {
    const share = Math.round((1000 * index) / Math.max(1, length - 1)) / 1000;
    if (share - (shares.at(-1) ?? -1) < LEAST_DISTANCE) {
      shares.pop();
    }
    shares.push(share);
  }
  return shares;
}

/** @param {number} share */
function markAt(share) {
  const mark = element("i");
  mark.style.setProperty("--at", String(share));
  return mark;
}
