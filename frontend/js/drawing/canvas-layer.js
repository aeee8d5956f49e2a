/**
 * A canvas of our own over or under the nodes. It moves with them at once; it is drawn again when they stand still, and
 * while they move as often as drawing leaves most of the time to the rest of the page.
 */

/** Pixels drawn around the visible part, for what a pan brings in. */
const MARGIN = 80;
const STILL_MILLISECONDS = 150;
/** Of the time while the graph moves, drawing takes at most one part in so many. */
const PARTS = 4;
const MOST_PIXEL_RATIO = 2;

/** @typedef {import("./viewport.js").Viewport} Viewport */

/**
 * @typedef {object} Frame what is drawn, in pixels of the page; the context is scaled to them
 * @property {CanvasRenderingContext2D} context
 * @property {Viewport} viewport
 * @property {number} width
 * @property {number} height
 * @property {boolean} isStill whether nothing has moved for a moment: time for details
 */

export class CanvasLayer {
  #host;
  #canvas;
  #context;
  #draw;
  /** @type {Viewport} */
  #viewport = { x: 0, y: 0, zoom: 1 };
  /** @type {Viewport | null} where it was when it was drawn */
  #drawn = null;
  #width = 0;
  #height = 0;
  #frame = 0;
  #changedAt = 0;
  /** whether something has changed since the last frame, however long that took */
  #isTouched = false;
  #drawnAt = -Infinity;
  #cost = 0;

  /**
   * @param {HTMLElement} host positioned
   * @param {"under" | "over"} side of the nodes
   * @param {(frame: Frame) => void} draw
   */
  constructor(host, side, draw) {
    this.#host = host;
    this.#draw = draw;
    this.#canvas = document.createElement("canvas");
    this.#canvas.className = `graph-layer is-${side}`;
    this.#context = /** @type {CanvasRenderingContext2D} */ (this.#canvas.getContext("2d"));
    if (side === "under") {
      host.prepend(this.#canvas);
    } else {
      host.append(this.#canvas);
    }
  }

  /** @param {Viewport} viewport */
  move(viewport) {
    this.#viewport = viewport;
    this.#place();
    this.refresh();
  }

  /** Draw again soon. */
  refresh() {
    this.#changedAt = performance.now();
    this.#isTouched = true;
    this.#frame ||= requestAnimationFrame((now) => this.#onFrame(now));
  }

  /** @param {number} now */
  #onFrame(now) {
    const isStill = !this.#isTouched && now - this.#changedAt >= STILL_MILLISECONDS;
    this.#isTouched = false;
    if (isStill || now - this.#drawnAt >= this.#cost * PARTS) {
      this.#redraw(now, isStill);
    }
    this.#frame = isStill ? 0 : requestAnimationFrame((next) => this.#onFrame(next));
  }

  /**
   * @param {number} now
   * @param {boolean} isStill
   */
  #redraw(now, isStill) {
    const ratio = Math.min(MOST_PIXEL_RATIO, window.devicePixelRatio || 1);
    this.#width = this.#host.clientWidth;
    this.#height = this.#host.clientHeight;
    const width = Math.round((this.#width + 2 * MARGIN) * ratio);
    const height = Math.round((this.#height + 2 * MARGIN) * ratio);
    if (this.#canvas.width !== width || this.#canvas.height !== height) {
      Object.assign(this.#canvas, { width, height });
      Object.assign(this.#canvas.style, { width: `${width / ratio}px`, height: `${height / ratio}px` });
    }
    this.#context.setTransform(1, 0, 0, 1, 0, 0);
    this.#context.clearRect(0, 0, width, height);
    this.#context.setTransform(ratio, 0, 0, ratio, MARGIN * ratio, MARGIN * ratio);
    const viewport = this.#viewport;
    this.#draw({ context: this.#context, viewport, width: this.#width, height: this.#height, isStill });
    this.#drawn = viewport;
    this.#drawnAt = now;
    this.#place();
    requestAnimationFrame(() => {
      this.#cost = performance.now() - now; // the browser paints after this function has returned
    });
  }

  /** Put the last picture where it belongs now. */
  #place() {
    const drawn = this.#drawn;
    if (drawn) {
      const scale = this.#viewport.zoom / drawn.zoom;
      const x = this.#viewport.x - (drawn.x + MARGIN) * scale;
      const y = this.#viewport.y - (drawn.y + MARGIN) * scale;
      this.#canvas.style.transform = `translate(${x}px, ${y}px) scale(${scale})`;
    }
  }
}
