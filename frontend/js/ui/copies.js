/** Texts that a button shows, with a button that copies them. */

import { find, setText } from "./dom.js";

/**
 * @param {HTMLElement} root with buttons `[data-part=show-lines]`, each before what it shows: `code.lines`, a button
 *   `[data-part=copy-lines]` and `[data-part=copy-words]`
 */
export function offerCopies(root) {
  root.addEventListener("click", async (event) => {
    const button = event.target instanceof Element ? event.target.closest("[data-part=show-lines], [data-part=copy-lines]") : null;
    const shown = button?.nextElementSibling;
    if (button?.getAttribute("data-part") === "show-lines" && shown instanceof HTMLElement) {
      shown.hidden = !shown.hidden;
      button.setAttribute("aria-expanded", String(!shown.hidden));
    } else if (button?.parentElement) {
      const code = find(button.parentElement, "code.lines", HTMLElement);
      setText(find(button.parentElement, "[data-part=copy-words]", HTMLElement), (await copied(code)) ? "Copied." : "Copy it with Ctrl + C: it is selected.");
    }
  });
}

/**
 * @param {HTMLElement} code
 * @returns {Promise<boolean>} whether its text is in the clipboard; else it is selected
 */
async function copied(code) {
  try {
    await navigator.clipboard.writeText(code.textContent ?? ""); // only in a secure context
    return true;
  } catch {
    getSelection()?.selectAllChildren(code);
    return false;
  }
}
