/**
 * A tip beside what the pointer is on in a picture. For the eye alone: a list beside the picture has the same content.
 */

import { element } from "./dom.js";

const BESIDE_PIXELS = 14;
const BELOW_PIXELS = 18;
const EDGE_PIXELS = 4;

export class Tip {
  #tip = element("div", { class: "tip", hidden: true, "aria-hidden": "true" });

  /** To be put into the positioned element that the tip stays within. */
  get element() {
    return this.#tip;
  }

  hide() {
    this.#tip.hidden = true;
  }

  /**
   * @param {readonly Node[]} content
   * @param {number} x pixels from the left edge of the positioned element
   * @param {number} y pixels from its top; the tip is below, or above where there is no room
   */
  show(content, x, y) {
    this.#tip.hidden = false;
    this.#tip.replaceChildren(...content);
    const { clientWidth: width, clientHeight: height } = /** @type {HTMLElement} */ (this.#tip.offsetParent ?? document.documentElement);
    const left = Math.min(x + BESIDE_PIXELS, width - this.#tip.offsetWidth - EDGE_PIXELS);
    const below = y + BELOW_PIXELS;
    const top = below + this.#tip.offsetHeight <= height ? below : y - BELOW_PIXELS - this.#tip.offsetHeight;
    this.#tip.style.transform = `translate(${Math.round(Math.max(EDGE_PIXELS, left))}px, ${Math.round(Math.max(EDGE_PIXELS, top))}px)`;
  }
}
