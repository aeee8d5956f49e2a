/** A canvas that fills its host: drawn at most once a frame, in pixels of the page, as sharp as the screen. */

import { element } from "../ui/dom.js";

export class Canvas {
  #host;
  #draw;
  #mostRatio;
  #canvas = element("canvas", { "aria-hidden": "true" });
  #frame = 0;

  /**
   * @param {HTMLElement} host
   * @param {(context: CanvasRenderingContext2D, size: { width: number, height: number, ratio: number }) => void} draw called with
   *   an empty canvas, while the host has a width
   * @param {number} [mostRatio] pixels for one of the page, at most: each costs time
   */
  constructor(host, draw, mostRatio = Infinity) {
    this.#host = host;
    this.#draw = draw;
    this.#mostRatio = mostRatio;
    host.replaceChildren(this.#canvas);
    new ResizeObserver(() => this.redrawSoon()).observe(host);
  }

  /** @returns {number} pixels of the canvas for one of the page */
  get ratio() {
    return Math.min(this.#mostRatio, window.devicePixelRatio || 1);
  }

  redrawSoon() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#redraw();
    });
  }

  #redraw() {
    const { clientWidth: width, clientHeight: height } = this.#host;
    const context = this.#canvas.getContext("2d");
    if (!context || width === 0) {
      return;
    }
    const { ratio } = this;
    const [across, down] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.#canvas.width !== across || this.#canvas.height !== down) {
      [this.#canvas.width, this.#canvas.height] = [across, down];
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    this.#draw(context, { width, height, ratio });
  }
}
