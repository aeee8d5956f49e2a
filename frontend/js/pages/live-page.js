/** A page with one job: its progress, and what it shows once the job has ended. */

import { watchRows } from "../jobs/job-rows.js";
import { fillNumbers } from "../ui/page-numbers.js";
import { renewPart } from "../ui/page-part.js";

fillNumbers(document);
watchRows(document, () => renewPart("live"));
