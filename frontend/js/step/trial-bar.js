/** The bar that shows a placement by hand: how many groups were moved, what it changes, undo, redo, discard. */

import { element, find, setAttributes, setText } from "../ui/dom.js";
import { counted, formatGap, formatTime } from "../ui/format.js";
import { movedGroups } from "./trial.js";

/** @typedef {import("./trial.js").Trial} Trial */

export class TrialBar {
  #root;
  #words = element("p", { class: "trial-words", role: "status" });

  /**
   * @param {HTMLElement} root
   * @param {{ undo: () => void, redo: () => void, discard: () => void }} acts
   */
  constructor(root, acts) {
    this.#root = root;
    const buttons = /** @type {const} */ ([["undo", "Undo"], ["redo", "Redo"], ["discard", "Discard"]]);
    root.replaceChildren(
      this.#words,
      ...buttons.map(([name, text]) => {
        const button = element("button", { type: "button", class: "button", "data-trial": name }, text);
        button.addEventListener("click", () => button.getAttribute("aria-disabled") !== "true" && acts[name]());
        return button;
      }),
    );
  }

  /**
   * @param {Trial | null} trial
   * @param {{ stepTimeUs: number, feasible: boolean } | null} outcome null: not simulated yet
   * @param {number} baseUs step time of the event
   */
  show(trial, outcome, baseUs) {
    this.#root.hidden = trial === null;
    if (!trial) {
      return;
    }
    setAttributes(find(this.#root, "[data-trial=undo]", HTMLButtonElement), { "aria-disabled": trial.moves.length === 0 ? "true" : "false" });
    setAttributes(find(this.#root, "[data-trial=redo]", HTMLButtonElement), { "aria-disabled": trial.undone.length === 0 ? "true" : "false" });
    setText(this.#words, trialWords(movedGroups(trial).length, outcome, baseUs));
  }
}

/**
 * @param {number} moved groups
 * @param {{ stepTimeUs: number, feasible: boolean } | null} outcome
 * @param {number} baseUs
 * @returns {string}
 */
export function trialWords(moved, outcome, baseUs) {
  const head = `By hand: ${counted(moved, "group")} moved`;
  if (!outcome) {
    return `${head}, simulating…`;
  }
  const change = baseUs > 0 ? ` (${formatGap(outcome.stepTimeUs / baseUs - 1)})` : "";
  const fits = outcome.feasible ? "" : "; it does not fit in memory";
  return `${head}: ${formatTime(baseUs, 4)} → ${formatTime(outcome.stepTimeUs, 4)}${change}, simulated${fits}`;
}
