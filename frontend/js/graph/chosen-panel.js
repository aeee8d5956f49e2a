/** The panel below a graph with the facts of the chosen group, or of several selected ones. */

import { DOUBLE_CLICK_MILLISECONDS, groupPanel, selectionPanel } from "./group-details.js";

/** A group nearer than this to the panel is covered by it, or by the bar above it once the group is moved. */
const COVERED_PIXELS = 100;

/**
 * @typedef {object} ChosenActs
 * @property {(group: number, device: number | null) => Node | null} [extraOf] what the panel gets beside the facts
 * @property {() => void} [onFill] called when it is filled: with other groups, or with new facts of the same ones
 * @property {() => void} onClose
 * @property {(group: number) => void} onOpen
 */

export class ChosenPanel {
  #part;
  #known;
  #store;
  #acts;
  #timer = 0;

  /**
   * @param {HTMLElement} part
   * @param {import("./group-facts.js").GroupFacts} known
   * @param {import("./graph-state.js").GraphStore} store
   * @param {ChosenActs} acts
   */
  constructor(part, known, store, acts) {
    this.#part = part;
    this.#known = known;
    this.#store = store;
    this.#acts = acts;
  }

  /** Fill it with what has just been chosen. */
  fill() {
    window.clearTimeout(this.#timer);
    this.renew();
  }

  /** Fill it again: there are other facts of the same groups. */
  renew() {
    const { groups } = this.#store.state;
    const chosen = groups.at(-1) ?? -1;
    const part = this.#part;
    const device = part.contains(document.activeElement) ? document.activeElement?.getAttribute("data-device") : null;
    const extra = chosen < 0 ? null : (this.#acts.extraOf?.(chosen, this.#known.placement?.[chosen] ?? null) ?? null);
    const details = groups.map((group) => this.#known.detail(group));
    const several = () => selectionPanel(details, extra, this.#acts.onClose);
    const one = () => groupPanel({ ...details[0], extra }, this.#acts.onClose, () => this.#acts.onOpen(chosen));
    this.#acts.onFill?.();
    part.replaceChildren(...(chosen < 0 ? [] : details.length > 1 ? several() : one()));
    const same = device && part.querySelector(`[data-device="${device}"]`);
    if (same instanceof HTMLElement) {
      same.focus({ preventScroll: true });
    }
  }

  /**
   * Fill it once a second click would have come: it may lie over the drawing. The page scrolls if it would cover the group.
   *
   * @param {() => number} bottomOf the group's pixel in the window; −∞ where it is not drawn
   */
  fillBeside(bottomOf) {
    window.clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => {
      this.renew();
      const covered = bottomOf() + COVERED_PIXELS - this.#part.getBoundingClientRect().top;
      if (covered > 0) {
        window.scrollBy({ top: covered, behavior: "instant" });
      }
    }, DOUBLE_CLICK_MILLISECONDS);
  }
}
