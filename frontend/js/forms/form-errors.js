/** Shows the server's errors for a form sent by a script, at the same places as a page without scripts. */

import { element } from "../ui/dom.js";
import { errorSentence } from "../ui/sentences.js";

/** @typedef {Record<string, string[]>} Errors field → sentences; the empty field is for sentences without a field */

/**
 * The sentences of `errors` that belong to one of `fields`, and one text of all others.
 *
 * @param {Errors} errors
 * @param {Iterable<string>} fields
 * @returns {{ atFields: [string, string[]][], rest: string }}
 */
export function sortErrors(errors, fields) {
  const known = new Set(fields);
  const entries = Object.entries(errors);
  return {
    atFields: entries.filter(([field]) => known.has(field)),
    rest: entries.filter(([field]) => !known.has(field)).flatMap(([, sentences]) => sentences).map(errorSentence).join(" "),
  };
}

/**
 * @param {HTMLFormElement} form with each field in a `.field`
 * @param {Errors} errors
 * @returns {string} the sentences without a field
 */
export function showErrors(form, errors) {
  clearErrors(form);
  /** @type {Map<string, Element>} */
  const places = new Map();
  for (const control of form.querySelectorAll(".field [name]")) {
    places.set(control.getAttribute("name") ?? "", control);
  }
  const { atFields, rest } = sortErrors(errors, places.keys());
  for (const [index, [name, sentences]] of atFields.entries()) {
    const control = /** @type {HTMLElement} */ (places.get(name));
    control.setAttribute("aria-invalid", "true");
    const items = sentences.map((sentence) => element("li", {}, errorSentence(sentence)));
    control.closest(".field")?.append(element("ul", { class: "errorlist", role: "alert" }, ...items));
    control.closest("details")?.setAttribute("open", "");
    if (index === 0) {
      control.focus();
    }
  }
  return rest;
}

/** @param {HTMLFormElement} form */
export function clearErrors(form) {
  for (const list of form.querySelectorAll(".errorlist")) {
    list.remove();
  }
  for (const control of form.querySelectorAll("[aria-invalid]")) {
    control.removeAttribute("aria-invalid");
  }
}

/**
 * What is wrong with a control's entry, as far as the page knows; the server checks the rest.
 *
 * @param {{ validity: ValidityState, min?: string, max?: string, type: string, validationMessage?: string }} control
 * @returns {string} a sentence; empty for a good entry
 */
export function entryFault({ validity, min, max, type, validationMessage }) {
  if (validity.valid) {
    return "";
  }
  if (validity.customError) {
    return String(validationMessage);
  }
  if (validity.valueMissing) {
    return type === "file" ? "Choose a file." : type === "radio" ? "Choose one of these." : "Enter a value.";
  }
  if (validity.rangeUnderflow || validity.rangeOverflow) {
    if (Number(min) >= 0.001 && max) {
      return `Enter a number from ${grouped(String(min))} to ${grouped(max)}.`;
    }
    const low = Number(min) > 0 && Number(min) < 0.001 ? "above 0" : min ? `of at least ${grouped(min)}` : "";
    const high = max ? `of at most ${grouped(max)}` : "";
    return `Enter a number ${[low, high].filter(Boolean).join(" and ")}.`;
  }
  if (validity.stepMismatch) {
    return "Enter a whole number.";
  }
  return validity.badInput ? "Enter a number." : "Enter another value.";
}

/** @param {string} number as an attribute has it */
function grouped(number) {
  return Number(number).toLocaleString("en", { maximumFractionDigits: 6 });
}

/**
 * @param {HTMLFormElement} form
 * @returns {Errors} of the entries that the page knows to be wrong; the names of their fields, in order
 */
export function wrongEntries(form) {
  /** @type {Errors} */
  const errors = {};
  for (const control of form.elements) {
    if (control instanceof HTMLInputElement || control instanceof HTMLSelectElement || control instanceof HTMLTextAreaElement) {
      const fault = control.disabled || control.name === "" ? "" : entryFault(control);
      if (fault) {
        errors[control.name] ??= [fault];
      }
    }
  }
  return errors;
}

/**
 * Show wrong entries at their fields in the page's own style when the form is sent, in place of the browser's bubbles.
 * Call it before other listeners to `submit`: a form with wrong entries reaches none of them.
 *
 * @param {HTMLFormElement} form
 */
export function checkEntries(form) {
  form.noValidate = true;
  form.addEventListener("submit", (event) => {
    const errors = wrongEntries(form);
    if (Object.keys(errors).length > 0) {
      event.preventDefault();
      event.stopImmediatePropagation();
      showErrors(form, errors);
    }
  });
  form.addEventListener("input", ({ target }) => {
    if (target instanceof HTMLInputElement && target.validity.valid && target.getAttribute("aria-invalid") === "true") {
      target.removeAttribute("aria-invalid");
      target.closest(".field")?.querySelector(".errorlist")?.remove();
    }
  });
}

/**
 * Focus the first field with an error on a page that the server sent, unless the user has begun to type elsewhere.
 *
 * @param {HTMLFormElement} form
 */
export function focusRefused(form) {
  if (document.activeElement !== null && document.activeElement !== document.body) {
    return;
  }
  for (const list of form.querySelectorAll(".errorlist")) {
    const control = list.closest(".field, fieldset")?.querySelector("input, select, textarea");
    if (control instanceof HTMLElement) {
      control.focus();
      return;
    }
  }
}
