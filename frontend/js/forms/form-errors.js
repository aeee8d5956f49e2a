/** Shows the server's errors for a form sent by a script, at the same places as a page without scripts. */

import { element } from "../ui/dom.js";

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
    rest: entries.filter(([field]) => !known.has(field)).flatMap(([, sentences]) => sentences).join(" "),
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
    const items = sentences.map((sentence) => element("li", {}, sentence));
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
