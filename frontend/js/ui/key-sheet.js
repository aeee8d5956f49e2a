/** The sheet of keys: `?` or a button opens it. Also `/`, which goes to the page's search. */

import { element } from "./dom.js";

/** @typedef {{ title: string, keys: readonly (readonly [string, string])[] }} KeySection keys, such as `Ctrl + Z`, and what they do */

/**
 * @param {HTMLButtonElement} button that opens the sheet
 * @param {readonly KeySection[]} sections
 */
export function keySheet(button, sections) {
  const close = element("button", { type: "button", class: "button" }, "Close");
  const sheet = element(
    "dialog",
    { class: "key-sheet", "aria-label": "Keys" },
    element("div", { class: "card-head" }, element("h2", {}, "Keys"), close),
    ...keySections(sections),
  );
  document.body.append(sheet);
  close.addEventListener("click", () => sheet.close());
  button.addEventListener("click", () => sheet.showModal());
  document.addEventListener("keydown", (event) => {
    const target = event.target instanceof Element ? event.target : null;
    if (target?.closest("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey || sheet.open) {
      return;
    }
    const search = event.key === "/" ? document.querySelector("[data-key-target=search]") : null;
    if (event.key === "?") {
      event.preventDefault();
      sheet.showModal();
    } else if (search instanceof HTMLElement && search.offsetParent !== null) {
      event.preventDefault();
      search.focus();
    }
  });
}

/**
 * @param {readonly KeySection[]} sections
 * @returns {HTMLElement[]}
 */
export function keySections(sections) {
  return sections.map(({ title, keys }) =>
    element(
      "section",
      {},
      element("h3", {}, title),
      element("dl", {}, ...keys.flatMap(([key, does]) => [element("dt", {}, keysOf(key)), element("dd", {}, does)])),
    ),
  );
}

/** What a pointer does is no key. */
const POINTER_WORDS = ["Drag", "click"];

/** @param {string} key such as `Ctrl + Z` */
function keysOf(key) {
  const parts = key.split(" ").map((part, index) => {
    const isBetween = index % 2 === 1 && ["+", "or", "to"].includes(part);
    return isBetween ? ` ${part} ` : POINTER_WORDS.includes(part) ? part : element("kbd", {}, part);
  });
  return element("span", {}, ...parts);
}
