/** The line below a list of devices that says how many more there are, with the button that lists them all. */

import { element, setText } from "../ui/dom.js";
import { formatCount } from "../ui/format.js";
import { listedDevices } from "./devices-in-use.js";

export class DeviceFold {
  #words = element("span");
  #button = element("button", { type: "button", class: "button is-quiet", "aria-expanded": "false" });
  #isOpen = false;
  /** Stays in the page, so that its button keeps the focus. */
  root = element("p", { class: "device-fold hint", hidden: true }, this.#words, this.#button);

  /** @param {() => void} onToggle list the devices again */
  constructor(onToggle) {
    this.#button.addEventListener("click", () => {
      this.#isOpen = !this.#isOpen;
      onToggle();
    });
  }

  /**
   * @param {number} count of devices
   * @param {readonly boolean[] | null} inUse [devices] null: not known yet
   * @returns {ReadonlySet<number>} the devices to list
   */
  show(count, inUse) {
    const { listed, words } = listedDevices(count, inUse);
    this.root.hidden = words === "";
    setText(this.#words, `${words}.`);
    setText(this.#button, this.#isOpen ? "Show those in use" : `Show all ${formatCount(count)}`);
    this.#button.setAttribute("aria-expanded", String(this.#isOpen));
    return new Set(this.#isOpen ? Array(count).keys() : listed);
  }

  hide() {
    this.root.hidden = true;
  }
}
