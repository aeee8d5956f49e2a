/** The keys of a drawing that has the focus. */

/**
 * @param {HTMLElement} host
 * @param {Record<string, () => void>} acts by the name of the key; a key with Ctrl, ⌘ or Alt is the browser's
 * @param {{ keeps: boolean }} [options] whether the page around it does not get these keys too
 */
export function listenToKeys(host, acts, { keeps } = { keeps: false }) {
  const known = new Map(Object.entries(acts));
  host.addEventListener("keydown", (event) => {
    const act = known.get(event.key);
    if (act && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      if (keeps) {
        event.stopPropagation();
      }
      act();
    }
  });
}

/**
 * The keys that show another part of a drawing.
 *
 * @param {object} view
 * @param {(closer: boolean) => void} view.zoom
 * @param {() => void} view.fit
 * @returns {Record<string, () => void>}
 */
export function zoomKeys(view) {
  return { "+": () => view.zoom(true), "=": () => view.zoom(true), "-": () => view.zoom(false), 0: () => view.fit() };
}
