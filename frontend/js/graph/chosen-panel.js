/** The part beside a graph with the facts of the chosen group, or of several selected ones. */

import { groupPanel, selectionPanel } from "./group-details.js";

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

  /** Fill it with what is chosen, and with what is known of it. */
  fill() {
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
}
