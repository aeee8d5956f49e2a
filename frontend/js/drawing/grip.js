/** A pointer on a drawing: it points, it presses, or it drags what is drawn. */

/**
 * @typedef {object} GripListeners in pixels of the host
 * @property {(x: number, y: number) => void} onPoint the pointer moves over it, and no button is held
 * @property {() => void} onLeave it points at nothing any more
 * @property {(x: number, y: number) => void} onPress it was pressed and released in one place
 * @property {() => ((right: number, down: number) => void)} onDrag a drag may begin: gives what follows it, called with the
 *   way from where it began
 */

/**
 * @param {HTMLElement} host
 * @param {number} reach pixels: a shorter way is no drag
 * @param {GripListeners} listeners
 */
export function listenToGrip(host, reach, { onPoint, onLeave, onPress, onDrag }) {
  /** @type {{ x: number, y: number, moved: boolean, follow: (right: number, down: number) => void } | null} */
  let grip = null;
  host.addEventListener("pointerdown", (event) => {
    if (event.button === 0) {
      grip = { x: event.offsetX, y: event.offsetY, moved: false, follow: onDrag() };
      host.setPointerCapture(event.pointerId);
    }
  });
  host.addEventListener("pointermove", ({ offsetX: x, offsetY: y }) => {
    if (!grip) {
      onPoint(x, y);
      return;
    }
    grip.moved ||= Math.hypot(x - grip.x, y - grip.y) > reach;
    if (grip.moved) {
      onLeave();
      grip.follow(x - grip.x, y - grip.y);
    }
  });
  host.addEventListener("pointerup", ({ offsetX, offsetY }) => {
    if (grip && !grip.moved) {
      onPress(offsetX, offsetY);
    }
    grip = null;
  });
  host.addEventListener("pointercancel", () => (grip = null));
  host.addEventListener("pointerleave", onLeave);
}
