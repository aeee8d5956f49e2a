/** The state of the installation. */

import { fillNumbers } from "../ui/page-numbers.js";

fillNumbers(document);
