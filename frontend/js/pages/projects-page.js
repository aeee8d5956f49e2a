/** Pages that only need their numbers formatted: the list of projects, the question before a deletion. */

import { fillNumbers } from "../ui/page-numbers.js";

fillNumbers(document);
