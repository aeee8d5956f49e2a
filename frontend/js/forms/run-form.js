/** The form that starts a run: shows only the fields for the current choices, and describes the run in words. */

import { checkEntries, wrongEntries } from "./form-errors.js";
import { find, setText } from "../ui/dom.js";
import { formatCount } from "../ui/format.js";
import { DeviceBuilder } from "./device-builder.js";

/** The line under a form with an entry that cannot be right. */
export const INCOMPLETE = "One of the entries above is missing or out of range.";

/**
 * Attributes of the options: `data-presets` (names separated by spaces), `data-takes-a-policy` and
 * `data-policy-preset` (the preset that takes one) for a method.
 *
 * @param {HTMLFormElement} form
 */
export function enhanceRunForm(form) {
  /** @type {DeviceBuilder | null} */
  let devices = null;
  const update = () => {
    showStream(form);
    showMethod(form);
    showPresets(form);
    showPolicy(form);
    if (devices !== null) {
      showSummary(form, devices.described);
      showMissingCpu(form, devices.described);
    }
  };
  devices = new DeviceBuilder(find(form, "[data-part=devices]", HTMLElement), update);
  checkEntries(form);
  form.addEventListener("input", update);
  form.addEventListener("submit", () => {
    const button = find(form, "button[type=submit]", HTMLButtonElement);
    button.disabled = true; // a double click starts one run
    setText(button, "Starting…");
  });
  addEventListener("pageshow", () => {
    const button = find(form, "button[type=submit]", HTMLButtonElement);
    button.disabled = false;
    setText(button, "Start run");
    update();
  });
  keepForOthers(form);
  update();
}

/** Fields of a run that a comparison, or a plan, has too. */
const KEPT = ["cluster", "policy", "evaluations", "seconds", "drop_devices", "objective", "micro_batches", "pipeline", "contiguous", "recompute", "constraints"];

/**
 * The links to the forms of a comparison and of a plan take along what was entered here.
 *
 * @param {HTMLFormElement} form
 */
function keepForOthers(form) {
  for (const link of form.querySelectorAll("a[data-part=compare], a[data-part=plan]")) {
    link.addEventListener("click", () => {
      const kept = [...new FormData(form)].flatMap(([name, value]) => (KEPT.includes(name) ? [[name, String(value)]] : []));
      link.setAttribute("href", `${link.getAttribute("href")?.split("?")[0]}?${new URLSearchParams(kept)}`);
    });
  }
}

/** @param {HTMLFormElement} form */
function showMethod(form) {
  const method = optionOf(form, "method");
  const words = find(form, "[data-part=method-words]", HTMLElement);
  const label = method?.textContent?.trim() ?? "";
  const refusal = whyRefused(form, method);
  words.hidden = !method?.dataset.does;
  words.toggleAttribute("data-refused", refusal !== "");
  setText(words, `${label} ${method?.dataset.does ?? ""}.${refusal}`);
}

/**
 * The fields of a stream stay out of the way, and out of the request, while a step is placed.
 *
 * @param {HTMLFormElement} form
 */
export function showStream(form) {
  for (const name of ["micro_batches", "pipeline", "contiguous", "recompute"]) {
    const input = field(form, name);
    if (input) {
      input.disabled = !isForStream(form);
    }
  }
}

/** @param {HTMLFormElement} form */
export function isForStream(form) {
  return new FormData(form).get("objective") === "throughput";
}

/**
 * @param {HTMLFormElement} form
 * @param {HTMLOptionElement | null} method
 * @returns {string} why the server would refuse the method for the objective; empty where it would not
 */
function whyRefused(form, method) {
  if (!isForStream(form)) {
    return method?.hasAttribute("data-streams-only") ? " It needs the objective throughput." : "";
  }
  const contiguous = field(form, "contiguous");
  const isAsked = contiguous instanceof HTMLInputElement && contiguous.checked;
  return isAsked && !method?.hasAttribute("data-keeps-contiguous") ? " It cannot keep stages contiguous: choose another method." : "";
}

/** @param {HTMLFormElement} form */
function showPresets(form) {
  const preset = field(form, "preset");
  const presets = optionOf(form, "method")?.dataset.presets;
  if (!(preset instanceof HTMLSelectElement) || presets === undefined) {
    return;
  }
  const names = presets.split(" ").filter(Boolean);
  for (const option of preset.options) {
    option.hidden = option.disabled = !names.includes(option.value); // the first is the one that "default" means
  }
  if (preset.selectedOptions[0]?.disabled ?? true) {
    preset.value = names[0] ?? "";
  }
  preset.disabled = names.length === 0;
  preset.closest(".field")?.toggleAttribute("hidden", names.length === 0);
}

/**
 * Show the policy for methods and presets that take one; zero-shot once a policy is chosen for the zero-shot method.
 *
 * @param {HTMLFormElement} form
 */
function showPolicy(form) {
  const policy = field(form, "policy");
  const zeroShot = field(form, "zero_shot");
  const evaluations = field(form, "evaluations");
  if (!(policy instanceof HTMLSelectElement && zeroShot instanceof HTMLInputElement && evaluations)) {
    return;
  }
  const preset = field(form, "preset");
  const method = optionOf(form, "method");
  const refused = preset !== null && !preset.disabled && preset.value !== method?.dataset.policyPreset;
  const taken = !refused && (method?.hasAttribute("data-takes-a-policy") ?? false);
  policy.disabled = !taken;
  form.querySelector("[data-part=policy]")?.toggleAttribute("hidden", !taken);
  const offered = taken && policy.value !== "" && field(form, "method")?.value === zeroShot.dataset.method;
  zeroShot.disabled = !offered;
  form.querySelector("[data-part=zero-shot]")?.toggleAttribute("hidden", !offered);
  evaluations.disabled = offered && zeroShot.checked;
}

/**
 * @param {HTMLFormElement} form
 * @param {import("./device-text.js").Described} devices
 */
function showSummary(form, devices) {
  const method = optionOf(form, "method")?.textContent?.trim() ?? "";
  const evaluations = Number(field(form, "evaluations")?.value);
  const zeroShot = field(form, "evaluations")?.disabled ?? false;
  const budget = zeroShot ? "zero-shot" : `at most ${formatCount(evaluations)} evaluations`;
  const isWrong = Object.keys(wrongEntries(form)).length > 0 || devices.error !== "";
  setText(find(form, "[data-part=summary]", HTMLElement), isWrong ? INCOMPLETE : `${method} on ${devices.short_words}, ${budget}${streamWords(form)}.`);
}

/** @param {HTMLFormElement} form */
export function streamWords(form) {
  return isForStream(form) ? `, for the throughput of ${formatCount(Number(field(form, "micro_batches")?.value || 8))} micro-batches` : "";
}

/**
 * @param {HTMLFormElement} form
 * @param {import("./device-text.js").Described} devices
 */
function showMissingCpu(form, devices) {
  form.querySelector("[data-part=no-cpu]")?.toggleAttribute("hidden", devices.has_cpu || devices.error !== "");
}

/**
 * @param {HTMLFormElement} form
 * @param {string} name
 * @returns {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement | null}
 */
function field(form, name) {
  const found = form.elements.namedItem(name);
  return found instanceof HTMLInputElement || found instanceof HTMLSelectElement || found instanceof HTMLTextAreaElement
    ? found
    : null;
}

/**
 * @param {HTMLFormElement} form
 * @param {string} name
 * @returns {HTMLOptionElement | null}
 */
function optionOf(form, name) {
  const select = field(form, name);
  return select instanceof HTMLSelectElement ? (select.selectedOptions[0] ?? null) : null;
}
