/** One part of the page, fetched anew: the rest, such as a form that is being filled in, stays as it is. */

import { fillNumbers } from "./page-numbers.js";
import { getPage, ServerError } from "./server.js";

/**
 * Put what the server now has for `[data-part=name]` in the place of the old. Focus, scrolling and what was entered in
 * it stay.
 *
 * @param {string} name
 * @param {string} [address] of a page that has the part
 * @returns {Promise<void>} throws ServerError where it could not be had: then the old one stays
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

/** Where this page is read again: `data-address`, as one that comes back with a form's errors is not at its own. */
function pageAddress() {
  return document.querySelector("main")?.dataset.address ?? location.pathname + location.search;
}

/**
 * Carry over to `part` what a person has done in `old`.
 *
 * @param {Element} old
 * @param {Element} part
 * @returns {() => void} what is left to do once it is on the page
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
 * @returns {Element | null} what is in `part` the same as `element` was in the old one
 */
function twinOf(element, part) {
  const own = likeness(element);
  return [...part.querySelectorAll(element.localName)].find((other) => likeness(other) === own) ?? null;
}

/**
 * @param {Element} element
 * @returns {string} the same for elements that do the same
 */
function likeness(element) {
  const attributes = ["id", "name", "href", "value", "class", "data-part"].map((name) => element.getAttribute(name));
  const words = element.querySelector("summary")?.textContent ?? "";
  return JSON.stringify([...attributes, element.closest("form")?.getAttribute("action") ?? "", words]);
}
