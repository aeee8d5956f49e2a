/**
 * The form of a training: a graph is trained on or held out, not both; a double click starts one training; the first
 * field with an error gets the focus.
 */

import { find, setText } from "../ui/dom.js";
import { fillNumbers } from "../ui/page-numbers.js";
import { checkEntries, focusRefused } from "./form-errors.js";

const form = find(document, "form[data-train-form]", HTMLFormElement);
const button = find(form, "button[type=submit]", HTMLButtonElement);

fillNumbers(document);
focusRefused(form);
checkEntries(form);
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
