/** The menu of downloads of a run: what is made of a placement is made of the one that is shown. */

import { watchDownloads } from "../ui/downloads.js";
import { find, setText } from "../ui/dom.js";
import { offerPictures } from "../ui/picture-files.js";
import { getFile, post } from "../ui/server.js";

/**
 * @typedef {object} Exported the shown placement
 * @property {string} words such as `episode 17`
 * @property {Record<string, unknown>} fields the placement as requests have it
 */

export class RunDownloads {
  #menu;
  #exports;
  /** @type {Exported | null} */
  #shown = null;

  /** @param {ParentNode} root with `[data-part=downloads]` */
  constructor(root) {
    this.#menu = find(root, "[data-part=downloads]", HTMLElement);
    this.#exports = find(root, "[data-part=exports]", HTMLElement);
    watchDownloads(this.#menu, (link, signal) => this.#ask(link, signal));
  }

  /** @param {Exported | null} shown null: none yet, so the best is meant */
  show(shown) {
    this.#shown = shown;
    const title = find(this.#menu, "[data-part=export-title]", HTMLElement);
    setText(title, shown ? `Shown placement (${shown.words}), explained` : "Best placement, explained");
  }

  /**
   * @param {readonly import("../ui/picture-files.js").Picture[]} pictures
   * @param {import("../ui/picture-files.js").Titles} titles
   */
  offerPictures(pictures, titles) {
    const part = find(this.#menu, "[data-part=pictures]", HTMLElement);
    part.hidden = false;
    offerPictures(find(part, "ul", HTMLElement), pictures, String(part.dataset.stem), titles);
  }

  /**
   * @param {HTMLAnchorElement} link
   * @param {AbortSignal} signal
   */
  #ask(link, signal) {
    if (!this.#shown || !this.#exports.contains(link)) {
      return getFile(link.href, signal);
    }
    return post(link.href, this.#shown.fields, "application/json", signal);
  }
}
