/** The list of policies: states of trainings, and the upload, checked before it is sent. */

import { find, setText } from "../ui/dom.js";
import { watchRows } from "../jobs/job-rows.js";
import { fillNumbers } from "../ui/page-numbers.js";
import { renewPart } from "../ui/page-part.js";
import { errorSentence } from "../ui/sentences.js";
import { faultOf } from "../forms/upload.js";

fillNumbers(document);
watchRows(document, () => renewPart("policies")); // an ended row has more to show than its status
const form = find(document, "form[data-policy-upload]", HTMLFormElement);
const button = find(form, "button[type=submit]", HTMLButtonElement);
form.addEventListener("submit", (event) => {
  const input = find(form, "input[type=file]", HTMLInputElement);
  const fault = faultOf([{ file: input.files?.[0], accept: input.accept }], Number(form.dataset.limitBytes));
  const box = find(form, "[data-part=upload-error]", HTMLElement);
  box.hidden = fault === "";
  setText(box, errorSentence(fault));
  if (fault !== "") {
    event.preventDefault();
    return;
  }
  button.disabled = true; // a double click sends it once
  setText(button, "Uploading…");
});
addEventListener("pageshow", () => {
  button.disabled = false;
  setText(button, "Upload policy");
});
