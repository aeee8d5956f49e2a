/**
 * The form of a training: a graph is trained on or held out, not both; pressed twice is meant once; what was refused is
 * where one lands.
 */

import { find, setText } from "../ui/dom.js";
import { focusRefused } from "./form-errors.js";

const form = find(document, "form[data-train-form]", HTMLFormElement);
const button = find(form, "button[type=submit]", HTMLButtonElement);

focusRefused(form);
form.addEventListener("change", ({ target }) => {
  const row = target instanceof HTMLInputElement && target.checked ? target.closest("tr") : null;
  for (const box of row?.querySelectorAll("input") ?? []) {
    box.checked = box === target;
  }
});
form.addEventListener("submit", () => {
  button.disabled = true;
  setText(button, "Starting…");
});
addEventListener("pageshow", () => {
  button.disabled = false;
  setText(button, "Start training");
});
