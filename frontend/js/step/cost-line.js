/** The line below the table of groups: what moving the selected ones would cost, and what the moves so far have changed. */

import { element, setText } from "../ui/dom.js";

export class CostLine {
  #root;
  #name = element("strong", { class: "name" });
  #controls = element("div");
  #outcome = element("p", { class: "cost-outcome", hidden: true });

  /** @param {HTMLElement} root */
  constructor(root) {
    this.#root = root;
    root.replaceChildren(this.#name, this.#controls, this.#outcome);
  }

  /**
   * @param {string} name of the selected groups; empty: none is
   * @param {Node | null} controls that move them
   */
  showSelection(name, controls) {
    const focused = this.#controls.contains(document.activeElement) ? document.activeElement?.getAttribute("data-device") : null;
    setText(this.#name, name);
    this.#controls.replaceChildren(...(controls ? [controls] : []));
    const same = focused && this.#controls.querySelector(`[data-device="${focused}"]`);
    if (same instanceof HTMLElement) {
      same.focus({ preventScroll: true });
    }
    this.#hideIfEmpty();
  }

  /** @param {string} words what the moves have changed; empty: there is none */
  showOutcome(words) {
    setText(this.#outcome, words);
    this.#outcome.hidden = words === "";
    this.#hideIfEmpty();
  }

  #hideIfEmpty() {
    this.#root.hidden = !this.#controls.hasChildNodes() && this.#outcome.hidden;
  }
}
