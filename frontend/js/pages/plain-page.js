/** A page whose only script writes its numbers, times and errors for people. */

import { fillNumbers } from "../ui/page-numbers.js";

fillNumbers(document);
