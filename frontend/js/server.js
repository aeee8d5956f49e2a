/** Asking this server for JSON. */

import { element } from "./dom.js";

/** An answer that is no answer: what to tell the person, and whether asking again can help. */
export class ServerError extends Error {
  /**
   * @param {string} message
   * @param {number} status of HTTP, 0 where there was no answer
   */
  constructor(message, status) {
    super(message);
    this.name = "ServerError";
    this.status = status;
  }
}

/**
 * @param {string} url
 * @returns {Promise<unknown>}
 */
export async function getJson(url) {
  let answer;
  try {
    answer = await fetch(url, { headers: { Accept: "application/json" }, cache: "no-store" });
  } catch {
    throw new ServerError("The server cannot be reached.", 0);
  }
  if (!answer.ok) {
    const gone = answer.status === 404 || answer.status === 410;
    throw new ServerError(gone ? "This does not exist any more." : `The server answered ${answer.status}.`, answer.status);
  }
  try {
    return await answer.json();
  } catch {
    throw new ServerError("The server's answer could not be read.", answer.status);
  }
}

/**
 * Say in place of `host`'s content that something could not be shown, with a button to try again.
 *
 * @param {Element} host
 * @param {string} what could not be shown
 * @param {unknown} error
 * @param {(() => void) | null} again
 */
export function showFailure(host, what, error, again) {
  const why = error instanceof Error ? error.message : String(error);
  const box = element("div", { class: "failure", role: "alert" }, element("p", {}, `${what} ${why}`));
  if (again) {
    const button = element("button", { type: "button", class: "button" }, "Try again");
    button.addEventListener("click", again);
    box.append(button);
  }
  host.replaceChildren(box);
}
