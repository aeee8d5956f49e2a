/** The colours of the style sheet, for drawing on a canvas. */

/** @type {HTMLElement | null} */
let probe = null;
/**
 * What has been asked for since the last change of the theme: each question makes the browser style the page at once.
 *
 * @type {Map<string, string>}
 */
const known = new Map();

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
    window.addEventListener("themechange", () => known.clear(), { capture: true }); // before all who draw anew
  }
  const found = known.get(property);
  if (found !== undefined) {
    return found;
  }
  probe.style.color = `var(${property})`;
  const value = getComputedStyle(probe).color;
  known.set(property, value);
  return value;
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

/**
 * @param {string} wish a custom property, or a colour
 * @returns {string}
 */
export function paint(wish) {
  return wish.startsWith("--") ? colour(wish) : wish;
}
