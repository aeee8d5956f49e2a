/** One part of the page, fetched anew: the rest, such as a form that is being filled in, stays as it is. */

import { fillNumbers } from "./page-numbers.js";

/**
 * Put what the server now has for `[data-part=name]` in the place of the old.
 *
 * @param {string} name
 * @returns {Promise<Element | null>} the new part; null where it could not be had, and the old one stays
 */
export async function renewPart(name) {
  const selector = `[data-part=${name}]`;
  let answer;
  try {
    answer = await fetch(location.pathname, { headers: { Accept: "text/html" }, cache: "no-store" });
  } catch {
    return null;
  }
  const page = answer.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : null;
  const part = page?.querySelector(selector);
  const old = document.querySelector(selector);
  if (!part || !old) {
    return null;
  }
  fillNumbers(part);
  old.replaceWith(part);
  return part;
}
