/** The page of a project: uploads, and the state of what works in the background. */

import { confirmDeletion } from "./confirm.js";
import { watchRows } from "./job-rows.js";
import { fillNumbers } from "./page-numbers.js";
import { renewPart } from "./page-part.js";
import { enhanceUpload } from "./upload.js";

fillNumbers(document);
confirmDeletion(document);
for (const form of document.querySelectorAll("form[data-upload]")) {
  if (form instanceof HTMLFormElement) {
    enhanceUpload(form);
  }
}
watchRows(document, async (rows) => {
  if (rows.some(({ dataset }) => dataset.job === "graph")) {
    await renewPart("graphs"); // a graph that has been read has more to tell than its status
  }
});
