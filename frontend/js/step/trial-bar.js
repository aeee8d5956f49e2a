/** The bar that shows a placement by hand: how many groups were moved, what it changes, undo, redo, keep, download. */

import { watchDownloads } from "../ui/downloads.js";
import { element, find, setAttributes, setText } from "../ui/dom.js";
import { counted, formatStepChange, formatTime } from "../ui/format.js";
import { movedGroups } from "../run/trial.js";

/** @typedef {import("../run/trial.js").Trial} Trial */

export class TrialBar {
  #root;
  #words = element("p", { class: "trial-words", role: "status" });
  #fault = element("p", { class: "trial-fault", role: "alert", hidden: true });

  /**
   * @param {HTMLElement} root
   * @param {readonly [string, string][] | null} downloads names of files, with words; null: a page that only shows
   * @param {{ undo: () => void, redo: () => void, discard: () => void, keep: (name: string) => Promise<void>,
   *   download: (link: HTMLAnchorElement, signal: AbortSignal) => Promise<Response> }} acts
   */
  constructor(root, downloads, acts) {
    this.#root = root;
    const buttons = /** @type {const} */ ([["undo", "Undo"], ["redo", "Redo"], ["discard", "Discard"]]);
    root.replaceChildren(
      this.#words,
      ...buttons.map(([name, text]) => {
        const button = element("button", { type: "button", class: "button", "data-trial": name }, text);
        button.addEventListener("click", () => button.getAttribute("aria-disabled") !== "true" && acts[name]());
        return button;
      }),
      ...(downloads ? [this.#keepMenu(acts.keep), this.#downloadMenu(downloads, acts.download)] : []),
      this.#fault,
    );
  }

  /** @param {(name: string) => Promise<void>} keep */
  #keepMenu(keep) {
    const name = element("input", { type: "text", name: "name", maxlength: 200, required: true, "aria-label": "Name of the placement", placeholder: "Name" });
    const form = element("form", { class: "card menu-body" }, name, element("button", { type: "submit", class: "button is-primary" }, "Keep it"));
    const menu = element("details", { class: "menu", "data-trial": "keep" }, element("summary", { class: "button" }, "Keep"), form);
    menu.addEventListener("toggle", () => menu.open && name.focus());
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      this.#say("");
      try {
        await keep(name.value);
        name.value = "";
        menu.open = false;
      } catch (error) {
        this.#say(error instanceof Error ? error.message : String(error));
      }
    });
    return menu;
  }

  /**
   * @param {readonly [string, string][]} downloads
   * @param {(link: HTMLAnchorElement, signal: AbortSignal) => Promise<Response>} download
   */
  #downloadMenu(downloads, download) {
    const items = downloads.map(([name, words]) => element("li", {}, element("a", { href: `hand/${name}`, "data-download": words }, words)));
    const summary = element("summary", { class: "button" }, "Download");
    const menu = element("details", { class: "menu" }, summary, element("ul", { class: "card menu-body" }, ...items));
    watchDownloads(menu, download);
    return menu;
  }

  /** @param {string} fault empty: none */
  #say(fault) {
    setText(this.#fault, fault);
    this.#fault.hidden = fault === "";
  }

  /**
   * @param {Trial | null} trial without moves, only what can be redone is offered
   * @param {{ stepTimeUs: number, feasible: boolean } | null} outcome null: not simulated yet
   * @param {number} baseUs step time of the event
   */
  show(trial, outcome, baseUs) {
    const isMoved = trial !== null && trial.moves.length > 0;
    this.#root.hidden = !isMoved && !trial?.undone.length;
    this.#root.classList.toggle("is-undone", !isMoved);
    if (!trial || !isMoved) {
      setText(this.#words, "");
    }
    if (!trial) {
      return;
    }
    setAttributes(find(this.#root, "[data-trial=undo]", HTMLButtonElement), { "aria-disabled": trial.moves.length === 0 ? "true" : "false" });
    setAttributes(find(this.#root, "[data-trial=redo]", HTMLButtonElement), { "aria-disabled": trial.undone.length === 0 ? "true" : "false" });
    if (isMoved) {
      setText(this.#words, trialWords(movedGroups(trial).length, outcome, baseUs));
    }
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
  const change = baseUs > 0 ? formatStepChange(baseUs, outcome.stepTimeUs) : formatTime(outcome.stepTimeUs, 4);
  const fits = outcome.feasible ? "" : "; it does not fit in memory";
  return `${head}, ${change}, simulated${fits}`;
}
