/** A wait for the step of the shown placement, which is explained some time after the placement is shown. */

/** @typedef {import("./step.js").Step} Step */

export class StepWait {
  /** @type {((step: Step) => void) | null} */
  #resolve = null;

  /**
   * @returns {Promise<Step>} the next step that becomes known; a later wait takes the place of this one, which then stays open
   */
  next() {
    return new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  /** @param {Step | null} step null: another placement is shown, whose step is not known yet */
  know(step) {
    if (step) {
      this.#resolve?.(step);
      this.#resolve = null;
    }
  }
}
