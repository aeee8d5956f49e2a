/** The form that starts a comparison: shows the number of runs. */

import { find, setText } from "../ui/dom.js";
import { counted, formatCount } from "../ui/format.js";
import { checkEntries, wrongEntries } from "./form-errors.js";
import { fillNumbers } from "../ui/page-numbers.js";
import { DeviceBuilder } from "./device-builder.js";
import { INCOMPLETE } from "./run-form.js";

/**
 * @param {{ methods: number, deterministic: number, seeds: number, evaluations: number }} chosen `deterministic`: those
 *   of the methods that draw nothing at random, and so run with one seed
 * @returns {string}
 */
export function comparisonWords({ methods, deterministic, seeds, evaluations }) {
  if (methods === 0) {
    return "Choose at least one method.";
  }
  const runs = counted((methods - deterministic) * seeds + deterministic, "run");
  const once = seeds > 1 && deterministic > 0 ? ` (${formatCount(deterministic)} ${deterministic === 1 ? "is deterministic and runs" : "are deterministic and run"} once)` : "";
  return `${counted(methods, "method")} × ${counted(seeds, "seed")}${once}: ${runs} of at most ${formatCount(evaluations)} evaluations each.`;
}

/** @param {HTMLFormElement} form */
export function enhanceComparisonForm(form) {
  const button = find(form, "button[type=submit]", HTMLButtonElement);
  /** @type {DeviceBuilder | null} */
  let devices = null;
  const update = () => {
    const data = new FormData(form);
    const chosen = {
      methods: data.getAll("methods").length,
      deterministic: form.querySelectorAll("[data-deterministic] input:checked").length,
      seeds: Number(data.get("seeds")),
      evaluations: Number(data.get("evaluations")),
    };
    showPolicy(form);
    const isWrong = Object.keys(wrongEntries(form)).length > 0 || (devices?.described.error ?? "") !== "";
    setText(find(form, "[data-part=summary]", HTMLElement), isWrong ? INCOMPLETE : comparisonWords(chosen));
  };
  devices = new DeviceBuilder(find(form, "[data-part=devices]", HTMLElement), update);
  checkEntries(form);
  form.addEventListener("input", update);
  form.addEventListener("submit", () => {
    button.disabled = true; // a double click starts one comparison
    setText(button, "Starting…");
  });
  addEventListener("pageshow", () => {
    button.disabled = false;
    setText(button, "Start comparison");
    update();
  });
  update();
}

/**
 * A policy is for the methods that take one: where none of these is chosen, the form offers and sends none.
 *
 * @param {HTMLFormElement} form
 */
function showPolicy(form) {
  const taken = form.querySelector("[data-takes-a-policy] input[name=methods]:checked") !== null;
  find(form, "select[name=policy]", HTMLSelectElement).disabled = !taken;
  find(form, "[data-part=policy]", HTMLElement).hidden = !taken;
}

if (typeof document !== "undefined") {
  fillNumbers(document);
  enhanceComparisonForm(find(document, "form[data-compare-form]", HTMLFormElement));
}
