/** Buttons that copy the text beside them. */

import { find, setText } from "./dom.js";

/** @param {HTMLElement} root with parts that have `code.lines`, a button `[data-part=copy-lines]` and `[data-part=copy-words]` */
export function offerCopies(root) {
  root.addEventListener("click", async (event) => {
    const button = event.target instanceof Element ? event.target.closest("[data-part=copy-lines]") : null;
    const part = button?.parentElement;
    if (part) {
      const code = find(part, "code.lines", HTMLElement);
      setText(find(part, "[data-part=copy-words]", HTMLElement), (await copied(code)) ? "Copied." : "Copy it with Ctrl + C: it is selected.");
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
