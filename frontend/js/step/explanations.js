/** Where the explanation of a placement's step comes from: stored beside the run, or computed for the page. */

import { fieldsOf } from "../run/placements.js";
import { movedGroups } from "../run/trial.js";
import { getBytes, isBadRequest, post } from "../ui/server.js";

export class Explanations {
  #shown;
  #version;

  /**
   * @param {import("../run/shown-placement.js").ShownPlacement} shown
   * @param {string} version of the application: a browser keeps an explanation for it alone, the next one may say more
   */
  constructor(shown, version) {
    this.#shown = shown;
    this.#version = version;
  }

  /**
   * @param {import("../run/shown-placement.js").Placed} placed the shown placement, to explain it
   * @returns {import("./step-panel.js").Shown}
   */
  ofShown({ key }) {
    const { base, trial } = this.#shown;
    if (!trial && base?.explanation) {
      return { key, load: () => this.#stored(base.explanation) };
    }
    const fields = this.#shown.fields();
    return { key, load: () => (trial ? this.#byHand(key, { ...fields, moved: movedGroups(trial) }) : computed(fields)), isWanted: true };
  }

  /**
   * @param {string} key
   * @param {ReturnType<typeof fieldsOf> & { moved: number[] }} fields of a placement by hand, which an address may have made up
   */
  async #byHand(key, fields) {
    try {
      return await computed(fields);
    } catch (error) {
      if (isBadRequest(error)) {
        this.#shown.refuse(key, error.message);
      }
      throw error;
    }
  }

  /** @param {import("../run/placements.js").KnownPlacement} known */
  of({ explanation, placement, base }) {
    return explanation ? this.#stored(explanation) : computed(fieldsOf(placement, base));
  }

  /** @param {string} address */
  #stored(address) {
    return getBytes(`${address}?version=${this.#version}`);
  }
}

/** @param {ReturnType<typeof fieldsOf>} fields of a placement without an explanation of its own */
async function computed(fields) {
  const answer = await post("step", fields, "application/octet-stream");
  return answer.arrayBuffer();
}
