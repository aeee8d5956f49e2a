/** The line above the table of groups: what moving the selected ones would cost, and what the moves so far have changed. */

import { element, setText } from "../ui/dom.js";

export class CostLine {
  #name = element("strong", { class: "name" });
  #controls = element("div");
  #outcome = element("p", { class: "cost-outcome", hidden: true });
  #hint = element("span", { class: "hint" }, "Select a group to see what moving it to another device would cost; Shift or Ctrl selects several.");

  /** @param {HTMLElement} root */
  constructor(root) {
    root.replaceChildren(this.#hint, this.#name, this.#controls, this.#outcome);
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
    this.#hintIfEmpty();
  }

  /** @param {string} words what the moves have changed; empty: there is none */
  showOutcome(words) {
    setText(this.#outcome, words);
    this.#outcome.hidden = words === "";
    this.#hintIfEmpty();
  }

  #hintIfEmpty() {
    this.#hint.hidden = this.#controls.hasChildNodes() || !this.#outcome.hidden;
  }
}
