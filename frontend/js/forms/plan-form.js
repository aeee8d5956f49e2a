/** The form that starts a search for plans: builds the devices, and is sent once. */

import { find, setText } from "../ui/dom.js";
import { fillNumbers } from "../ui/page-numbers.js";
import { DeviceBuilder } from "./device-builder.js";
import { checkEntries } from "./form-errors.js";

/** @param {HTMLFormElement} form */
export function enhancePlanForm(form) {
  const button = find(form, "button[type=submit]", HTMLButtonElement);
  new DeviceBuilder(find(form, "[data-part=devices]", HTMLElement), () => undefined);
  checkEntries(form);
  form.addEventListener("submit", () => {
    button.disabled = true; // a double click starts one search
    setText(button, "Starting…");
  });
  addEventListener("pageshow", () => {
    button.disabled = false;
    setText(button, "Search for plans");
  });
}

fillNumbers(document);
enhancePlanForm(find(document, "form[data-plan-form]", HTMLFormElement));
