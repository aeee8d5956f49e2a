/** The page of a project: uploads, and the states of its jobs. */

import { confirmDeletion } from "../ui/confirm.js";
import { watchRows } from "../jobs/job-rows.js";
import { fillNumbers } from "../ui/page-numbers.js";
import { renewPart } from "../ui/page-part.js";
import { enhanceUpload } from "../forms/upload.js";

fillNumbers(document);
confirmDeletion(document);
for (const form of document.querySelectorAll("form[data-upload]")) {
  if (form instanceof HTMLFormElement) {
    enhanceUpload(form);
  }
}
watchRows(document, async (rows) => {
  if (rows.some(({ dataset }) => dataset.job === "graph")) {
    await renewPart("graphs"); // a graph that is ready has more to show than its status
  }
});
