/** The run's verdict at the top of its page, its two placements beside each other, and the order of their files. */

import { element, find, setText } from "../ui/dom.js";
import { hasTwoPlacements, isSimplestFirst, nameOfBest, placementRows, resultOf } from "./result.js";

/** @typedef {import("../ui/contracts.js").Result} Result */

export class ResultPanel {
  #root;
  #onShow;
  /** @type {Result | null} */
  #result = null;
  #shown = "";
  #canShow = false;
  /** What the times are, before each: periods in a stream. */
  #quantity;

  /**
   * @param {HTMLElement} root of the page
   * @param {Result | null} stored the result with which the page came
   * @param {import("./store.js").Store<import("./page-state.js").PageState>} store
   * @param {import("./shown-placement.js").ShownPlacement} shown
   */
  constructor(root, stored, store, shown) {
    this.#root = root;
    this.#quantity = root.querySelector("[data-part=stream-facts]") ? "period " : "";
    this.#onShow = (/** @type {string} */ token) => shown.goTo(token);
    store.subscribe(["run", "placed"], ({ run }) => {
      const canShow = Boolean(run?.report?.simplest) && root.dataset.file === undefined;
      this.#show(resultOf(run?.report ?? null, stored), shown.token, canShow);
    });
  }

  /**
   * @param {Result | null} result
   * @param {string} shown token of the drawn placement: `simplest`; empty or `best`: the best one; any other is neither
   * @param {boolean} canShow whether the page has the simplest placement, to draw it
   */
  #show(result, shown, canShow) {
    const isSame = shown === this.#shown && canShow === this.#canShow && JSON.stringify(result) === JSON.stringify(this.#result);
    if (isSame) {
      return;
    }
    this.#canShow = canShow;
    this.#result = result;
    this.#shown = shown;
    this.#part("advice-line").hidden = result === null;
    setText(this.#part("advice"), result?.verdict.sentence ?? "");
    this.#part("proof-line").hidden = !result?.proof;
    setText(this.#part("proof"), result?.proof?.sentence ?? "");
    const trade = result?.verdict.trade_sentence ?? "";
    this.#part("trade").hidden = trade === "";
    setText(this.#part("trade"), trade);
    const both = this.#part("both");
    both.hidden = !hasTwoPlacements(result);
    both.replaceChildren(...(result && !both.hidden ? this.#choices(result) : []));
    this.#orderFiles(result);
  }

  /**
   * @param {Result} result
   * @returns {HTMLElement[]} a button for each placement that draws it; where the page cannot, only what is known of it
   */
  #choices(result) {
    return placementRows(result).map(({ token, name, stepTime, devices, edges }) => {
      const words = [element("strong", {}, name), ` ${this.#quantity}${stepTime} `, element("span", { class: "hint" }, `${devices}, ${edges}`)];
      if (!this.#canShow) {
        return element("span", { class: "both-choice" }, ...words);
      }
      const isShown = token === "simplest" ? this.#shown === token : ["", "best"].includes(this.#shown);
      const button = element("button", { type: "button", class: "both-choice", "aria-pressed": String(isShown), "data-show": token }, ...words);
      button.addEventListener("click", () => this.#onShow(token));
      return button;
    });
  }

  /** @param {Result | null} result */
  #orderFiles(result) {
    if (result === null || !hasTwoPlacements(result)) {
      return;
    }
    const files = this.#part("placement-files");
    const best = find(files, "[data-files=best]", HTMLElement);
    const simplest = files.querySelector("[data-files=simplest]") ?? simplestFiles(best);
    setText(find(best, "h2", HTMLElement), `${nameOfBest(result)} placement`);
    files.replaceChildren(...(isSimplestFirst(result) ? [simplest, best] : [best, simplest]));
  }

  /** @param {string} name */
  #part(name) {
    return find(this.#root, `[data-part=${name}]`, HTMLElement);
  }
}

/**
 * The same files of the simplest placement, for a page that was opened before the run had one.
 *
 * @param {HTMLElement} best the files of the best placement
 * @returns {HTMLElement}
 */
function simplestFiles(best) {
  const files = /** @type {HTMLElement} */ (best.cloneNode(true));
  files.dataset.files = "simplest";
  setText(find(files, "h2", HTMLElement), "Simplest placement");
  for (const link of files.querySelectorAll("a")) {
    link.setAttribute("href", `simplest/${link.getAttribute("href")}`);
  }
  const loading = files.querySelector("[data-part=loading]");
  if (loading instanceof HTMLElement) {
    const name = String(loading.dataset.file).replace(/\.\w+$/, "");
    const code = find(loading, "code.lines", HTMLElement);
    setText(code, (code.textContent ?? "").replaceAll(name, name.replace(/placed$/, "simplest-placed")));
  }
  return files;
}
