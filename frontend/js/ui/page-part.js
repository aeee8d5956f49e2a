/** Fetches one part of the page again; the rest, such as a form that is being filled in, stays as it is. */

import { fillNumbers } from "./page-numbers.js";
import { getPage, ServerError } from "./server.js";

/**
 * Replace `[data-part=name]` by the server's current version. Focus, scrolling and entered values are kept.
 *
 * @param {string} name
 * @param {string} [address] of a page with the part
 * @returns {Promise<void>} throws ServerError if it cannot be fetched, and keeps the old one
 */
export async function renewPart(name, address = pageAddress()) {
  const selector = `[data-part=${name}]`;
  const part = (await getPage(address)).querySelector(selector);
  const old = document.querySelector(selector);
  if (!part || !old) {
    throw new ServerError("The server's answer could not be read.", 0);
  }
  fillNumbers(part);
  const takeUp = keep(old, part);
  old.replaceWith(part);
  takeUp();
}

/** The address of this page: `data-address`, since a page with a form's errors has the form's address. */
function pageAddress() {
  return document.querySelector("main")?.dataset.address ?? location.pathname + location.search;
}

/**
 * Transfer the user's changes from `old` to `part`.
 *
 * @param {Element} old
 * @param {Element} part
 * @returns {() => void} the rest of the transfer, for when it is on the page
 */
function keep(old, part) {
  for (const field of old.querySelectorAll("input, select, textarea")) {
    keepEntry(field, twinOf(field, part));
  }
  for (const details of old.querySelectorAll("details[open]")) {
    twinOf(details, part)?.setAttribute("open", "");
  }
  const focused = document.activeElement && old.contains(document.activeElement) ? twinOf(document.activeElement, part) : null;
  const scrolled = [...old.querySelectorAll(".table-scroller")].map((each) => [each.scrollLeft, each.scrollTop]);
  return () => {
    for (const [index, each] of part.querySelectorAll(".table-scroller").entries()) {
      [each.scrollLeft, each.scrollTop] = scrolled[index] ?? [0, 0];
    }
    if (focused instanceof HTMLElement) {
      focused.focus({ preventScroll: true });
    }
  };
}

/**
 * @param {Element} field
 * @param {Element | null} twin
 */
function keepEntry(field, twin) {
  if (field instanceof HTMLInputElement && twin instanceof HTMLInputElement) {
    if (["checkbox", "radio"].includes(field.type)) {
      twin.checked = field.checked;
    } else if (!["file", "hidden"].includes(field.type)) {
      twin.value = field.value;
    }
  } else if (field instanceof HTMLSelectElement && twin instanceof HTMLSelectElement) {
    twin.value = field.value;
  } else if (field instanceof HTMLTextAreaElement && twin instanceof HTMLTextAreaElement) {
    twin.value = field.value;
  }
}

/**
 * @param {Element} element
 * @param {Element} part
 * @returns {Element | null} the element of `part` that corresponds to `element`
 */
function twinOf(element, part) {
  const own = likeness(element);
  return [...part.querySelectorAll(element.localName)].find((other) => likeness(other) === own) ?? null;
}

/**
 * @param {Element} element
 * @returns {string} a key, equal for corresponding elements
 */
function likeness(element) {
  const attributes = ["id", "name", "href", "value", "class", "data-part"].map((name) => element.getAttribute(name));
  const words = element.querySelector("summary")?.textContent ?? "";
  return JSON.stringify([...attributes, element.closest("form")?.getAttribute("action") ?? "", words]);
}
