/** The choice of what a graph is coloured by, and the legend of the choice. */

import { element } from "../ui/dom.js";
import { COLOURINGS } from "./colouring.js";
import { DeviceFold } from "./device-fold.js";
import { asDropTarget, deviceMark } from "./device-legend.js";

export class ColourChooser {
  #select;
  #legend = element("ul", { class: "colour-legend" });
  #fold = new DeviceFold(() => this.#list());
  /** @type {{ key: string, colouring: import("./colouring.js").Colouring } | null} */
  #last = null;
  #shown = "";

  /**
   * @param {HTMLElement} choice where the select goes
   * @param {HTMLElement} legend
   * @param {readonly string[]} keys of `COLOURINGS` that this page knows the facts of
   * @param {(key: string) => void} onChoose
   */
  constructor(choice, legend, keys, onChoose) {
    const options = keys.map((key) => element("option", { value: key }, COLOURINGS[key].label));
    this.#select = element("select", {}, ...options);
    this.#select.addEventListener("change", () => onChoose(this.#select.value));
    choice.replaceChildren(element("label", { class: "colour-choice" }, "Colour by", this.#select));
    legend.replaceChildren(this.#legend, this.#fold.root);
  }

  /**
   * @param {string} key
   * @param {import("./colouring.js").Colouring} colouring
   */
  show(key, colouring) {
    this.#last = { key, colouring };
    this.#list();
  }

  #list() {
    if (this.#last) {
      const { key, colouring } = this.#last;
      this.#write(key, colouring.looks, this.#listed(colouring));
    }
  }

  /**
   * @param {import("./colouring.js").Colouring} colouring
   * @returns {import("./colouring.js").Colouring["legend"]} without the devices that are folded
   */
  #listed({ legend, inUse }) {
    if (!inUse) {
      this.#fold.hide();
      return legend;
    }
    const listed = this.#fold.show(inUse.length, inUse);
    return legend.filter(({ look }) => look >= inUse.length || listed.has(look));
  }

  /**
   * @param {string} key
   * @param {import("./colouring.js").Colouring["looks"]} looks
   * @param {import("./colouring.js").Colouring["legend"]} legend
   */
  #write(key, looks, legend) {
    const shown = JSON.stringify([key, legend.map(({ look, words }) => [looks[look], words])]);
    if (shown !== this.#shown) {
      this.#shown = shown;
      this.#select.value = key;
      this.#legend.setAttribute("aria-label", COLOURINGS[key].title);
      this.#legend.replaceChildren(
        element("li", { class: "colour-title" }, `${COLOURINGS[key].title}:`),
        ...legend.map(({ look, words }) => legendItem(looks[look], words)),
      );
    }
  }

  /** @param {string} why the legend cannot be known */
  fail(why) {
    this.#shown = "";
    this.#last = null;
    this.#fold.hide();
    this.#legend.replaceChildren(element("li", { role: "alert" }, why));
  }
}

/**
 * @param {import("./graph-style.js").NodeLook | import("./devices.js").DeviceLook} look of a device: groups can be dropped on it
 * @param {string} words
 */
function legendItem(look, words) {
  const item = element("li", {}, deviceMark(look), words);
  return "index" in look ? asDropTarget(item, look) : item;
}
