/** The menu that makes secret links to this page: create, copy, revoke. */

import { find, setText } from "./dom.js";
import { renewPart } from "./page-part.js";
import { sendForm } from "./server.js";

/**
 * @param {Document} page
 * @param {(search: string) => string} [whyNot] why a link cannot open what an address shows; empty: it can
 */
export function shareLinks(page, whyNot = () => "") {
  const menu = page.querySelector("[data-part=share]");
  if (!(menu instanceof HTMLElement)) {
    return; // a page that a link has opened
  }
  menu.addEventListener("submit", (event) => {
    const form = event.target;
    if (form instanceof HTMLFormElement && ["new-link", "revoke"].includes(form.dataset.part ?? "")) {
      event.preventDefault();
      send(menu, form, whyNot);
    }
  });
  const made = find(menu, "#made-link", HTMLInputElement);
  find(menu, "[data-part=copy]", HTMLButtonElement).addEventListener("click", async () => {
    say(menu, (await copied(made)) ? "Copied." : "Copy it with Ctrl + C: it is selected.");
  });
}

/**
 * @param {HTMLElement} menu
 * @param {HTMLFormElement} form
 * @param {(search: string) => string} whyNot
 */
async function send(menu, form, whyNot) {
  const isNew = form.dataset.part === "new-link";
  if (isNew && whyNot(location.search)) {
    say(menu, whyNot(location.search));
    return;
  }
  const button = find(form, "button", HTMLButtonElement);
  button.disabled = true;
  try {
    if (isNew) {
      find(form, "input[name=query]", HTMLInputElement).value = location.search;
    }
    const answer = await sendForm(form);
    if (isNew) {
      const { url } = await answer.json();
      find(menu, "#made-link", HTMLInputElement).value = url;
    }
    find(menu, "[data-part=made-link]", HTMLElement).hidden = !isNew;
    say(menu, isNew ? "Copy the link now: the server keeps only its digest." : "Revoked: that link opens nothing any more.");
    await renewPart("links", String(find(menu, "[data-part=links]", HTMLElement).dataset.address));
    if (isNew) {
      find(menu, "#made-link", HTMLInputElement).select();
    }
  } catch (error) {
    say(menu, error instanceof Error ? error.message : String(error));
  } finally {
    button.disabled = false;
  }
}

/**
 * @param {HTMLInputElement} field
 * @returns {Promise<boolean>} whether its text is in the clipboard; else it is selected
 */
async function copied(field) {
  try {
    await navigator.clipboard.writeText(field.value); // only in a secure context
    return true;
  } catch {
    field.select();
    return false;
  }
}

/**
 * @param {HTMLElement} menu
 * @param {string} words
 */
function say(menu, words) {
  setText(find(menu, "[data-part=share-words]", HTMLElement), words);
}
