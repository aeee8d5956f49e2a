/** The form that starts a comparison: shows the number of runs. */

import { find, setText } from "../ui/dom.js";
import { counted, formatCount } from "../ui/format.js";
import { checkEntries, wrongEntries } from "./form-errors.js";
import { fillNumbers } from "../ui/page-numbers.js";
import { DeviceBuilder } from "./device-builder.js";
import { INCOMPLETE, isForStream, showStream, streamWords } from "./run-form.js";

/**
 * @param {{ methods: number, deterministic: number, seeds: number, evaluations: number, stream?: string }} chosen
 *   `deterministic`: those of the methods that draw nothing at random, and so run with one seed; `stream`: the objective
 *   in words, empty for the time of a step
 * @returns {string}
 */
export function comparisonWords({ methods, deterministic, seeds, evaluations, stream = "" }) {
  if (methods === 0) {
    return "Choose at least one method.";
  }
  const runs = counted((methods - deterministic) * seeds + deterministic, "run");
  const once = seeds > 1 && deterministic > 0 ? ` (${formatCount(deterministic)} ${deterministic === 1 ? "is deterministic and runs" : "are deterministic and run"} once)` : "";
  return `${counted(methods, "method")} × ${counted(seeds, "seed")}${once}: ${runs} of at most ${formatCount(evaluations)} evaluations each${stream}.`;
}

/** @param {HTMLFormElement} form */
export function enhanceComparisonForm(form) {
  const button = find(form, "button[type=submit]", HTMLButtonElement);
  /** @type {DeviceBuilder | null} */
  let devices = null;
  const update = () => {
    showStream(form);
    offerMethods(form);
    const data = new FormData(form);
    const chosen = {
      methods: data.getAll("methods").length,
      deterministic: form.querySelectorAll("[data-deterministic] input:checked:enabled").length,
      seeds: Number(data.get("seeds")),
      evaluations: Number(data.get("evaluations")),
      stream: streamWords(form),
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
 * Methods that cannot serve the objective are neither offered nor sent.
 *
 * @param {HTMLFormElement} form
 */
function offerMethods(form) {
  const contiguous = form.elements.namedItem("contiguous");
  const isContiguous = isForStream(form) && contiguous instanceof HTMLInputElement && contiguous.checked;
  for (const choice of form.querySelectorAll(".method-choice")) {
    const isForStreams = choice.hasAttribute("data-streams-only") && !isForStream(form);
    const splits = isContiguous && !choice.hasAttribute("data-keeps-contiguous");
    find(choice, "input[name=methods]", HTMLInputElement).disabled = isForStreams || splits;
    choice.classList.toggle("is-refused", isForStreams || splits);
  }
}

/**
 * A policy is for the methods that take one: where none of these is chosen, the form offers and sends none.
 *
 * @param {HTMLFormElement} form
 */
function showPolicy(form) {
  const taken = form.querySelector("[data-takes-a-policy] input[name=methods]:checked:enabled") !== null;
  find(form, "select[name=policy]", HTMLSelectElement).disabled = !taken;
  find(form, "[data-part=policy]", HTMLElement).hidden = !taken;
}

if (typeof document !== "undefined") {
  fillNumbers(document);
  enhanceComparisonForm(find(document, "form[data-compare-form]", HTMLFormElement));
}
