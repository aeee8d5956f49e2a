/** The list of projects. */

import { confirmDeletion } from "../ui/confirm.js";
import { fillNumbers } from "../ui/page-numbers.js";

fillNumbers(document);
confirmDeletion(document);
