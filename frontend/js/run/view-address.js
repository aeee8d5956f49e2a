/** Keeps a view in the page's address: each settled change is one step of the browser's history. */

import { searchOf, viewOf, withChange } from "./view.js";

/** @typedef {import("./view.js").View} View */

/** Changes in quick succession, as from a slider, are one step. */
const SETTLED_MILLISECONDS = 400;

export class ViewAddress {
  #view = viewOf(location.search);
  #timer = 0;

  /** @param {(view: View, before: View) => void} onMove called when the user goes back or forward */
  constructor(onMove) {
    window.addEventListener("popstate", () => {
      const view = viewOf(location.search);
      if (searchOf(view) === searchOf(this.#view)) {
        return; // a jump within the page
      }
      window.clearTimeout(this.#timer);
      const before = this.#view;
      this.#view = view;
      onMove(view, before);
    });
    window.addEventListener("pagehide", () => this.#write(true));
  }

  get view() {
    return this.#view;
  }

  /**
   * @param {Partial<View>} patch
   * @returns {boolean} whether anything changed
   */
  change(patch) {
    const next = withChange(this.#view, patch);
    if (next === this.#view) {
      return false;
    }
    this.#view = next;
    window.clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => this.#write(false), SETTLED_MILLISECONDS);
    return true;
  }

  /** @param {boolean} leaves whether the page is being left, so that a new step of the history would be lost */
  #write(leaves) {
    const search = searchOf(this.#view, location.search);
    if (search === location.search) {
      return;
    }
    const address = `${location.pathname}${search}${location.hash}`;
    if (leaves) {
      history.replaceState(null, "", address);
    } else {
      history.pushState(null, "", address);
    }
  }
}
