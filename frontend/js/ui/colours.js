/** The colours of the style sheet, for what is drawn on a canvas. */

/** @type {HTMLElement | null} */
let probe = null;

/**
 * The value that a custom property such as `--accent` has now, as `rgb(…)`.
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
 * Call `act` whenever the page turns dark or light.
 *
 * @param {() => void} act
 */
export function onThemeChange(act) {
  document.addEventListener("themechange", act);
}

/** @returns {boolean} whether the person asks for less movement */
export function prefersLessMotion() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
