/** The menu of downloads of a run: what is made of a placement is made of the one that is shown. */

import { offerCopies } from "../ui/copies.js";
import { watchDownloads } from "../ui/downloads.js";
import { find, setText } from "../ui/dom.js";
import { offerPictures } from "../ui/picture-files.js";
import { getFile, post } from "../ui/server.js";

/**
 * @typedef {object} Exported the shown placement
 * @property {string} words such as `episode 17`
 * @property {Record<string, unknown>} fields the placement as requests have it
 */

/**
 * @typedef {import("../ui/svg-elements.js").Surface} Surface
 * @typedef {{ drawOn: (surface: Surface) => void }} Drawing
 */

/** What the pictures show, by where it is shown: what is not there has no size, and no picture. */
const PICTURES = /** @type {const} */ ([
  { name: "graph", label: "Graph", shown: "[data-part=canvas] :is(.graph-canvas, [data-drawn=blocks]):not([hidden])" },
  { name: "timeline", label: "Timeline", shown: "[data-part=step][data-state=ready] [data-step=timeline]" },
  { name: "memory", label: "Memory", shown: "[data-part=step][data-state=ready] [data-step=memory]" },
  { name: "curve", label: "Step times", shown: "[data-part=chart]" },
]);

export class RunDownloads {
  #menu;
  #exports;
  /** @type {Exported | null} */
  #shown = null;

  /**
   * @param {ParentNode} root with `[data-part=downloads]`
   * @param {import("./store.js").Store<import("./page-state.js").PageState>} store
   * @param {import("./shown-placement.js").ShownPlacement} shown
   */
  constructor(root, store, shown) {
    this.#menu = find(root, "[data-part=downloads]", HTMLElement);
    this.#exports = find(root, "[data-part=exports]", HTMLElement);
    watchDownloads(this.#menu, (link, signal) => this.#ask(link, signal));
    offerCopies(this.#menu);
    store.subscribe(["placed"], ({ placed }) => this.#show(placed && { words: shown.words, fields: shown.fields() }));
  }

  /** @param {Exported | null} shown null: none yet, so the best is meant */
  #show(shown) {
    this.#shown = shown;
    const title = find(this.#menu, "[data-part=export-title]", HTMLElement);
    setText(title, shown ? `Shown placement (${shown.words}), explained` : "Best placement, explained");
  }

  /**
   * @param {HTMLElement} root of the page
   * @param {Record<"graph" | "timeline" | "memory" | "curve", Drawing>} drawings
   */
  offerPictures(root, drawings) {
    const pictures = PICTURES.map(({ name, label, shown }) => ({
      name,
      label,
      size: () => {
        const part = root.querySelector(shown);
        return { width: part?.clientWidth ?? 0, height: part?.clientHeight ?? 0 };
      },
      draw: (/** @type {Surface} */ surface) => drawings[name].drawOn(surface),
    }));
    const textOf = (/** @type {string} */ selector) => find(root, selector, HTMLElement).textContent ?? "";
    const titles = { title: textOf("h1"), source: `Step times: ${textOf("[data-part=step-time-source]")}` };
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
