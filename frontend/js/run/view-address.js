/**
 * Keeps a view in the page's address: each change is one step of the browser's history, and so is each playing.
 *
 * The address has a change at once, so that a reload loses nothing. Changes in quick succession, as from a slider, are one
 * step: the first makes it, the last names it.
 */

import { VIEW_KEYS } from "./page-state.js";
import { searchOf, viewOf, withChange } from "./view.js";

/** @typedef {import("./view.js").View} View */

/** After such a rest the next change is another step. */
const SETTLED_MILLISECONDS = 400;

export class ViewAddress {
  #view = viewOf(location.search);
  #timer = 0;
  /** Whether the last step of the history is so new that the next change belongs to it. */
  #isFresh = false;
  /** The playing whose episodes the last step of the history is about, 0 for none. */
  #playing = 0;

  /** @param {(view: View, before: View) => void} onMove called when the user goes back or forward */
  constructor(onMove) {
    window.addEventListener("popstate", () => {
      const view = viewOf(location.search);
      if (searchOf(view) === searchOf(this.#view)) {
        return; // a jump within the page
      }
      this.#rest();
      this.#playing = 0;
      const before = this.#view;
      this.#view = view;
      onMove(view, before);
    });
    window.addEventListener("pagehide", () => this.#write(this.#playing, true)); // a new step would be lost
    window.addEventListener("submit", () => this.#write(this.#playing, this.#isFresh), { capture: true }); // a form may send it
  }

  get view() {
    return this.#view;
  }

  /**
   * Keep the view of a store here from now on.
   *
   * @param {import("./store.js").Store<import("./page-state.js").PageState>} store
   * @param {() => number} playing number of the playing that changes what is shown, 0: a person does
   */
  follow(store, playing) {
    store.subscribe(VIEW_KEYS, (state, before) => {
      const isPlayed = VIEW_KEYS.every((key) => key === "shown" || state[key] === before[key]);
      const view = /** @type {View} */ (Object.fromEntries(VIEW_KEYS.map((key) => [key, state[key]])));
      this.change(view, isPlayed ? playing() : 0);
    });
  }

  /**
   * @param {Partial<View>} patch
   * @param {number} [playing] number of the playing that changes it, 0: a person does
   * @returns {boolean} whether anything changed
   */
  change(patch, playing = 0) {
    const next = withChange(this.#view, patch);
    if (next === this.#view) {
      return false;
    }
    this.#view = next;
    window.clearTimeout(this.#timer);
    if (this.#isFresh && playing === this.#playing) {
      this.#settle();
    } else {
      this.#timer = window.setTimeout(() => { // what changes together is written together
        this.#isFresh = this.#write(playing);
        this.#settle();
      });
    }
    return true;
  }

  #settle() {
    this.#timer = window.setTimeout(() => {
      this.#write(this.#playing, this.#isFresh);
      this.#rest();
    }, SETTLED_MILLISECONDS);
  }

  #rest() {
    window.clearTimeout(this.#timer);
    this.#isFresh = false;
  }

  /**
   * @param {number} playing
   * @param {boolean} [renames] whether the last step is named anew, not another one made
   * @returns {boolean} whether the address is another one now
   */
  #write(playing, renames = false) {
    const search = searchOf(this.#view, location.search);
    if (search === location.search) {
      return false;
    }
    const address = `${location.pathname}${search}${location.hash}`;
    if (renames || (playing > 0 && playing === this.#playing)) {
      history.replaceState(null, "", address);
    } else {
      history.pushState(null, "", address);
    }
    this.#playing = playing;
    return true;
  }
}
