/** The page of a project: uploads, and the state of what works in the background. */

import { confirmDeletion } from "./confirm.js";
import { watchRows } from "./job-rows.js";
import { fillNumbers } from "./page-numbers.js";
import { enhanceUpload } from "./upload.js";

fillNumbers(document);
confirmDeletion(document);
for (const form of document.querySelectorAll("form[data-upload]")) {
  if (form instanceof HTMLFormElement) {
    enhanceUpload(form);
  }
}
watchRows(document, (row) => {
  if (row.dataset.reload !== undefined) {
    location.reload(); // the row has more to tell than its status
  }
});
