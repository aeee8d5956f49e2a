/** The form that starts a comparison: says in words how many runs that will be. */

import { find, setText } from "./dom.js";
import { counted, formatCount } from "./format.js";
import { tellMemory } from "./run-form.js";

/**
 * @param {{ methods: number, seeds: number, evaluations: number }} chosen
 * @returns {string}
 */
export function comparisonWords({ methods, seeds, evaluations }) {
  if (methods === 0) {
    return "Choose at least one method.";
  }
  const runs = counted(methods * seeds, "run");
  return `${counted(methods, "method")} × ${counted(seeds, "seed")}: ${runs} of at most ${formatCount(evaluations)} evaluations each.`;
}

/** @param {HTMLFormElement} form */
export function enhanceComparisonForm(form) {
  const button = find(form, "button[type=submit]", HTMLButtonElement);
  const update = () => {
    const data = new FormData(form);
    const chosen = { methods: data.getAll("methods").length, seeds: Number(data.get("seeds")), evaluations: Number(data.get("evaluations")) };
    setText(find(form, "[data-part=summary]", HTMLElement), comparisonWords(chosen));
    find(form, "[data-part=simple-cluster]", HTMLElement).toggleAttribute("data-unused", String(data.get("cluster")).trim() !== "");
    tellMemory(form);
  };
  form.addEventListener("input", update);
  form.addEventListener("submit", () => {
    button.disabled = true; // pressed twice is meant once
    setText(button, "Starting…");
  });
  addEventListener("pageshow", () => {
    button.disabled = false;
    setText(button, "Start comparison");
    update();
  });
  update();
}

if (typeof document !== "undefined") {
  enhanceComparisonForm(find(document, "form[data-compare-form]", HTMLFormElement));
}
