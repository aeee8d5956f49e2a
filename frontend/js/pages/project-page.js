/** The page of a project: uploads, and the states of its jobs. */

import { watchRows } from "../jobs/job-rows.js";
import { fillNumbers } from "../ui/page-numbers.js";
import { renewPart } from "../ui/page-part.js";
import { enhanceUpload } from "../forms/upload.js";

fillNumbers(document);
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
