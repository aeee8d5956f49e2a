/** The form that starts a run: shows only the fields for the current choices, and describes the run in words. */

import { checkEntries, wrongEntries } from "./form-errors.js";
import { find, setText } from "../ui/dom.js";
import { formatBytes, formatCount } from "../ui/format.js";

/** The line under a form with an entry that cannot be right. */
export const INCOMPLETE = "One of the entries above is missing or out of range.";

/**
 * Attributes of the options: `data-memory-bytes` for a device kind, `data-whole` (its words) for one
 * that is a whole cluster; `data-presets` (names separated by spaces),
 * `data-takes-a-policy` and `data-policy-preset` (the preset that takes one) for a method.
 *
 * @param {HTMLFormElement} form
 */
export function enhanceRunForm(form) {
  const update = () => {
    showDevices(form);
    showMethod(form);
    showPresets(form);
    showPolicy(form);
    showSummary(form);
    showMissingCpu(form);
  };
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
  update();
}

/**
 * Show the memory of the chosen kind; a whole machine has its own number of devices, memory and CPUs.
 *
 * @param {HTMLFormElement} form
 */
export function showDevices(form) {
  const chosen = optionOf(form, "device_kind")?.dataset ?? {};
  for (const name of ["device_count", "memory_gib", "with_cpu"]) {
    const input = field(form, name);
    if (input !== null) {
      input.disabled = chosen.whole !== undefined;
    }
  }
  const memory = field(form, "memory_gib");
  const bytes = Number(chosen.memoryBytes);
  if (memory instanceof HTMLInputElement && bytes > 0) {
    memory.placeholder = `${Math.round((bytes / 1024 ** 3) * 100) / 100}`;
  }
}

/** @param {HTMLFormElement} form */
function showMethod(form) {
  const method = optionOf(form, "method");
  const words = find(form, "[data-part=method-words]", HTMLElement);
  words.hidden = !method?.dataset.does;
  setText(words, `${method?.textContent?.trim() ?? ""} ${method?.dataset.does ?? ""}.`);
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

/** @param {HTMLFormElement} form */
function showSummary(form) {
  const own = field(form, "cluster")?.value.trim();
  const kind = field(form, "device_kind")?.value ?? "";
  const count = Number(field(form, "device_count")?.value);
  const withCpu = field(form, "with_cpu");
  const cpu = withCpu instanceof HTMLInputElement && withCpu.checked ? " and a CPU" : "";
  const bytes = Number(field(form, "memory_gib")?.value) * 1024 ** 3 || Number(optionOf(form, "device_kind")?.dataset.memoryBytes);
  const memory = bytes > 0 ? ` with ${formatBytes(bytes)} each` : "";
  const devices = optionOf(form, "device_kind")?.dataset.whole ?? `${formatCount(count)} × ${kind}${memory}${cpu}`;
  const cluster = own ? "your own cluster" : devices;
  const method = optionOf(form, "method")?.textContent?.trim() ?? "";
  const evaluations = Number(field(form, "evaluations")?.value);
  const zeroShot = field(form, "evaluations")?.disabled ?? false;
  const budget = zeroShot ? "zero-shot" : `at most ${formatCount(evaluations)} evaluations`;
  const isWrong = Object.keys(wrongEntries(form)).length > 0;
  setText(find(form, "[data-part=summary]", HTMLElement), isWrong ? INCOMPLETE : `${method} on ${cluster}, ${budget}.`);
  find(form, "[data-part=simple-cluster]", HTMLElement).toggleAttribute("data-unused", Boolean(own));
}

/**
 * Whether a cluster has a CPU, as far as the page knows without the server.
 *
 * @param {{ written: string, kindClass: string, withCpu: boolean }} choices `written`: a cluster in the text field, which replaces the others
 * @returns {boolean}
 */
export function hasCpu({ written, kindClass, withCpu }) {
  return written === "" ? withCpu || kindClass === "CPU" : /cpu/i.test(written);
}

/** @param {HTMLFormElement} form */
function showMissingCpu(form) {
  const notice = form.querySelector("[data-part=no-cpu]");
  const withCpu = field(form, "with_cpu");
  notice?.toggleAttribute(
    "hidden",
    hasCpu({
      written: field(form, "cluster")?.value.trim() ?? "",
      kindClass: optionOf(form, "device_kind")?.dataset.class ?? "",
      withCpu: withCpu instanceof HTMLInputElement && withCpu.checked,
    }),
  );
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
