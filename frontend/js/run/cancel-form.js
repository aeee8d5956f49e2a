/** The button that cancels a run, without leaving its page. */

import { find, setText } from "../ui/dom.js";

/**
 * @param {HTMLElement} root with `[data-part=cancel]`; a page that a secret link has opened has none
 * @param {import("../ui/announcer.js").Announcer} announcer
 */
export function listenToCancel(root, announcer) {
  const form = root.querySelector("[data-part=cancel]");
  if (!(form instanceof HTMLFormElement)) {
    return;
  }
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = find(form, "button", HTMLButtonElement);
    button.disabled = true;
    setText(button, "Cancelling…");
    try {
      const answer = await fetch(form.action, { method: "POST", body: new FormData(form), redirect: "manual" });
      if (answer.type !== "opaqueredirect" && !answer.ok) {
        throw new Error(`the server answered ${answer.status}`);
      }
    } catch {
      button.disabled = false;
      setText(button, "Cancel run");
      announcer.say("The run could not be cancelled. Try again.", { urgent: true });
    }
  });
}
