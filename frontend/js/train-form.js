/**
 * The form of a training: a graph is trained on or held out, not both; pressed twice is meant once; what was refused is
 * where one lands.
 */

import { find, setText } from "./dom.js";

const form = find(document, "form[data-train-form]", HTMLFormElement);
const button = find(form, "button[type=submit]", HTMLButtonElement);

const refused = form.querySelector(".errorlist")?.closest(".field, fieldset")?.querySelector("input, textarea");
if (refused instanceof HTMLElement) {
  refused.focus();
}
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
