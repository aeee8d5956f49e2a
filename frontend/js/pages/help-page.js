/** The help page: shows the keys of a run's page, from the table that the page itself uses. */

import { RUN_KEYS } from "../run/run-keys.js";
import { find } from "../ui/dom.js";
import { keySections } from "../ui/key-sheet.js";

find(document, "[data-part=keys]", HTMLElement).append(...keySections(RUN_KEYS));
