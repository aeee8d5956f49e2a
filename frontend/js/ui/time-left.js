/** The time left of a stage of work, from the rate since it was first seen. */

import { formatEstimate } from "./format.js";

/** A rate over less time says nothing yet. */
const LEAST_MILLISECONDS = 2000;

export class TimeLeft {
  #stage = "";
  #begunAt = 0;
  #begunDone = 0;
  #lastDone = 0;

  /**
   * @param {string} stage another one begins anew
   * @param {number} done
   * @param {number} total of the same unit; 0 if it is not known
   * @param {number} now in milliseconds
   * @returns {string} `, ≈ 20 s left`; empty while it cannot be known
   */
  words(stage, done, total, now) {
    if (stage !== this.#stage || done < this.#lastDone) {
      [this.#stage, this.#begunAt, this.#begunDone] = [stage, now, done];
    }
    this.#lastDone = done;
    const [milliseconds, more] = [now - this.#begunAt, done - this.#begunDone];
    if (milliseconds < LEAST_MILLISECONDS || more <= 0 || done >= total) {
      return "";
    }
    return `, ${formatEstimate(((total - done) * milliseconds) / more / 1000)} left`;
  }
}
