/** Keeps what is below a text from jumping while the text changes. */

/**
 * Never let `element` become lower than it has been at its present width.
 *
 * @param {HTMLElement} element
 */
export function keepHeight(element) {
  let [width, height] = [0, 0];
  const observer = new ResizeObserver(() => {
    if (element.offsetWidth !== width) {
      [width, height] = [element.offsetWidth, 0];
      element.style.minHeight = "";
    }
    if (element.offsetHeight > height) {
      height = element.offsetHeight;
      element.style.minHeight = `${height}px`;
    }
  });
  observer.observe(element);
}
