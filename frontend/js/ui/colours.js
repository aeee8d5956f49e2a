/** The colours of the style sheet, for drawing on a canvas. */

/** @type {HTMLElement | null} */
let probe = null;

/**
 * The current value of a custom property such as `--accent`, as `rgb(…)`.
 *
 * @param {string} property
 * @returns {string}
 */
export function colour(property) {
  if (!probe) {
    probe = document.createElement("span");
    probe.hidden = true;
    document.body.append(probe);
  }
  probe.style.color = `var(${property})`;
  return getComputedStyle(probe).color;
}

/**
 * Call `act` whenever the theme changes.
 *
 * @param {() => void} act
 * @returns {() => void} forgets `act`
 */
export function onThemeChange(act) {
  document.addEventListener("themechange", act);
  return () => document.removeEventListener("themechange", act);
}

/** @returns {boolean} whether the user prefers less motion */
export function prefersLessMotion() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
