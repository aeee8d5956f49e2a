/**
 * The form of a training: a graph is trained on or held out, not both; a double click starts one training; the first
 * field with an error gets the focus.
 */

import { find, setText } from "../ui/dom.js";
import { fillNumbers } from "../ui/page-numbers.js";
import { DeviceBuilder } from "./device-builder.js";
import { checkEntries, focusRefused } from "./form-errors.js";

const form = find(document, "form[data-train-form]", HTMLFormElement);
const button = find(form, "button[type=submit]", HTMLButtonElement);

fillNumbers(document);
focusRefused(form);
checkEntries(form);
offerDevices(find(form, "[data-part=devices]", HTMLElement));
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

/**
 * Rows of devices that become a line of the field for clusters.
 *
 * @param {HTMLElement} part
 */
function offerDevices(part) {
  const add = find(part, "[data-part=add-cluster]", HTMLButtonElement);
  const text = find(part, "textarea", HTMLTextAreaElement);
  const clusters = find(form, "textarea[name=clusters]", HTMLTextAreaElement);
  part.hidden = false;
  /** @type {DeviceBuilder | null} */
  let devices = null;
  const update = () => {
    add.disabled = devices !== null && devices.described.error !== "";
  };
  devices = new DeviceBuilder(part, update);
  add.addEventListener("click", () => {
    clusters.value = [...clusters.value.split("\n"), text.value.replace(/\s*\n\s*/g, " ")].map((line) => line.trim()).filter(Boolean).join("\n");
  });
}
