/** The list of projects. */

import { confirmDeletion } from "./confirm.js";
import { fillNumbers } from "./page-numbers.js";

fillNumbers(document);
confirmDeletion(document);
