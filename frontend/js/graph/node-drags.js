/** Distinguishes a drag that begins on a node from a click and from a pan: the picture is held from the press to the release. */

/** So far the pointer moves before a press is a drag. */
const DRAG_PIXELS = 6;

export class NodeDrags {
  #hold;
  #onDrag;
  /** @type {PointerEvent | null} the last press on the picture */
  #down = null;
  /** Ends the watch over the press on a node. @type {AbortController | null} */
  #watch = null;

  /**
   * @param {HTMLElement} host of the picture
   * @param {(isHeld: boolean) => void} hold the picture neither pans nor selects while it is held
   * @param {(node: number, event: PointerEvent) => void} onDrag called as soon as the press is a drag
   */
  constructor(host, hold, onDrag) {
    this.#hold = hold;
    this.#onDrag = onDrag;
    host.addEventListener("pointerdown", (event) => {
      this.#release(); // a second finger zooms
      this.#down = event;
    }, { capture: true });
  }

  /**
   * A node has been pressed.
   *
   * @param {number} node
   * @param {MouseEvent | TouchEvent} event
   */
  press(node, event) {
    const down = this.#down;
    const selects = event.shiftKey || event.ctrlKey || event.metaKey;
    if (!down || !down.isPrimary || down.button !== 0 || selects || this.#watch) {
      return;
    }
    this.#hold(true);
    this.#watch = new AbortController();
    const { signal } = this.#watch;
    window.addEventListener("pointermove", (move) => {
      const far = Math.hypot(move.clientX - down.clientX, move.clientY - down.clientY);
      if (move.pointerId === down.pointerId && far >= DRAG_PIXELS && this.#down === down) {
        this.#down = null; // reported once
        this.#onDrag(node, move);
      }
    }, { signal });
    for (const end of ["pointerup", "pointercancel"]) {
      window.addEventListener(end, () => this.#release(), { signal });
    }
  }

  #release() {
    if (this.#watch) {
      this.#watch.abort();
      this.#watch = null;
      this.#hold(false);
    }
    this.#down = null;
  }
}
