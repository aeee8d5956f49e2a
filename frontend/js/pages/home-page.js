/** The home page: the upload, and the project of the newest graphs. */

import { enhanceUpload } from "../forms/upload.js";
import { find } from "../ui/dom.js";
import { fillNumbers } from "../ui/page-numbers.js";

fillNumbers(document);
enhanceUpload(find(document, "form[data-upload]", HTMLFormElement));
