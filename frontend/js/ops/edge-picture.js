/**
 * A picture of edges, drawn a few at a time while the view stands still. While the view moves, the last picture is moved
 * and scaled with it.
 */

import { element } from "../ui/dom.js";
import { edgeOpacity, edgeWidths, isEdgeSeen } from "./detail.js";
import { seen } from "../drawing/viewport.js";

/** @typedef {import("../drawing/viewport.js").Viewport} Viewport */

/** Milliseconds of a frame that drawing edges may take, and edges between two looks at the clock. */
const SLICE_MILLISECONDS = 10;
const EDGES_A_LOOK = 200;
/** Of the canvas around it, so that a little panning shows edges too. */
const MARGIN_SHARE = 0.15;

export class EdgePicture {
  #graph;
  #onProgress;
  #front = element("canvas");
  #back = element("canvas");
  /** @type {Viewport | null} the view that the front was drawn for */
  #drawnFor = null;
  #margin = 0;
  #job = 0;

  /**
   * @param {import("./flat-graph.js").FlatGraph} graph
   * @param {() => void} onProgress there is more to see
   */
  constructor(graph, onProgress) {
    this.#graph = graph;
    this.#onProgress = onProgress;
  }

  /** Show nothing, and stop drawing. */
  clear() {
    this.#job += 1;
    this.#drawnFor = null;
  }

  /** Draw no more for now, and keep what there is. */
  stop() {
    this.#job += 1;
  }

  /**
   * Begin a new picture; the old one is shown until it is complete, or as long as there is none yet, what there is.
   *
   * @param {Viewport} view
   * @param {import("../drawing/viewport.js").Size} canvas in pixels of the screen
   * @param {number} ratio pixels of the picture for one of the screen
   * @param {string} colour
   * @param {(edge: number) => boolean} wanted
   * @param {number} emphasis factor of the opacity
   */
  async draw(view, canvas, ratio, colour, wanted, emphasis = 1) {
    const job = (this.#job += 1);
    const margin = Math.round(MARGIN_SHARE * Math.max(canvas.width, canvas.height));
    const target = this.#drawnFor ? this.#back : this.#front;
    target.width = Math.round((canvas.width + 2 * margin) * ratio);
    target.height = Math.round((canvas.height + 2 * margin) * ratio);
    const context = target.getContext("2d");
    if (!context) {
      return;
    }
    const { edges, length } = this.#edgesIn(view, seen(view, canvas, margin), wanted);
    context.setTransform(ratio, 0, 0, ratio, margin * ratio, margin * ratio);
    context.strokeStyle = colour;
    const opacity = Math.min(1, emphasis * edgeOpacity(length / (canvas.width * canvas.height)));
    const first = !this.#drawnFor;
    if (first) {
      [this.#drawnFor, this.#margin] = [view, margin];
    }
    for (let at = 0; at < edges.length; ) {
      at = this.#drawSlice(context, view, edges, at, opacity);
      if (first) {
        this.#onProgress();
      }
      if (at < edges.length) {
        await new Promise((done) => requestAnimationFrame(done));
        if (job !== this.#job) {
          return;
        }
      }
    }
    if (!first) {
      [this.#front, this.#back] = [this.#back, this.#front];
      [this.#drawnFor, this.#margin] = [view, margin];
    }
    this.#onProgress();
  }

  /**
   * Put the picture onto a canvas whose transform is that of the screen's pixels.
   *
   * @param {CanvasRenderingContext2D} context
   * @param {Viewport} view
   * @param {number} ratio
   */
  paint(context, view, ratio) {
    const before = this.#drawnFor;
    if (!before || this.#front.width === 0) {
      return;
    }
    const by = view.zoom / before.zoom;
    const left = view.x - (before.x + this.#margin) * by;
    const top = view.y - (before.y + this.#margin) * by;
    context.drawImage(this.#front, left, top, (this.#front.width / ratio) * by, (this.#front.height / ratio) * by);
  }

  /**
   * @param {Viewport} view
   * @param {ReturnType<typeof seen>} box
   * @param {(edge: number) => boolean} wanted
   * @returns {{ edges: Int32Array, length: number }} the edges to draw, thin ones first, and their pixels in all
   */
  #edgesIn(view, box, wanted) {
    const { x, y, source, target, edgeCount, widths } = this.#graph;
    /** @type {number[][]} */
    const found = [[], [], []];
    let length = 0;
    for (let edge = 0; edge < edgeCount; edge += 1) {
      const [from, to] = [source[edge], target[edge]];
      if (wanted(edge) && isEdgeSeen(box, x[from], y[from], x[to], y[to])) {
        found[widths[edge]].push(edge);
        length += view.zoom * (Math.abs(x[from] - x[to]) + Math.abs(y[from] - y[to]));
      }
    }
    return { edges: Int32Array.from(found.flat()), length };
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Viewport} view
   * @param {Int32Array} edges
   * @param {number} at
   * @param {number} opacity
   * @returns {number} how many are drawn
   */
  #drawSlice(context, { zoom: scale, x: left, y: top }, edges, at, opacity) {
    const { x, y, source, target, widths } = this.#graph;
    const thickness = edgeWidths(scale);
    const until = performance.now() + SLICE_MILLISECONDS;
    while (at < edges.length && performance.now() < until) {
      const strength = widths[edges[at]];
      context.globalAlpha = opacity * (0.5 + strength / 4);
      context.lineWidth = thickness[strength];
      context.beginPath();
      const end = Math.min(edges.length, at + EDGES_A_LOOK);
      while (at < end && widths[edges[at]] === strength) {
        const [from, to] = [source[edges[at]], target[edges[at]]];
        context.moveTo(left + x[from] * scale, top + y[from] * scale);
        context.lineTo(left + x[to] * scale, top + y[to] * scale);
        at += 1;
      }
      context.stroke();
    }
    return at;
  }
}
