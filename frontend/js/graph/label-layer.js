/**
 * Names of nodes and rings around the chosen and the hovered one, on a canvas over the nodes. Names are always of one
 * readable size; only as many are drawn as fit without covering nodes or each other.
 */

import { CanvasLayer } from "../drawing/canvas-layer.js";
import { colour } from "../ui/colours.js";
import { freeBoxes } from "./free-boxes.js";

/** @typedef {import("./graph-geometry.js").Drawing} Drawing */

const FONT_PIXELS = 11;
const FONT = `${FONT_PIXELS}px system-ui, sans-serif`;
const BOLD = `600 ${FONT}`;
const LINE_PIXELS = 14;
const GAP = 3;
/** Least pixels from a name to the left and right edges of the canvas. */
const EDGE = 3;
/** Pixels from a node to its neighbour from which names are drawn. */
const ROOM_FOR_NAMES = 10;
const MOST_NAMES = 400;
const LOCK_PIXELS = 8;

export class LabelLayer {
  #drawing;
  #names;
  #layer;
  #order;
  /** @type {Map<number, number>} node → pixels */
  #widths = new Map();
  #chosen = -1;
  #hovered = -1;
  /** @type {{ selected: readonly number[], locked: readonly number[] }} nodes */
  #marked = { selected: [], locked: [] };
  /** @type {ArrayLike<number> | null} */
  #lit = null;
  #colours = coloursNow();

  /**
   * @param {HTMLElement} host
   * @param {Drawing} drawing
   * @param {readonly string[]} names [nodes]
   */
  constructor(host, drawing, names) {
    this.#drawing = drawing;
    this.#names = names;
    this.#order = [...names.keys()].sort((one, other) => drawing.radii[other] - drawing.radii[one] || one - other);
    this.#layer = new CanvasLayer(host, "over", (frame) => this.#draw(frame));
  }

  /** @param {import("../drawing/canvas-layer.js").Viewport} viewport */
  move(viewport) {
    this.#layer.move(viewport);
  }

  /** @param {number} node -1 for none */
  choose(node) {
    this.#chosen = node;
    this.#layer.refresh();
  }

  /** @param {number} node -1 for none */
  hover(node) {
    this.#hovered = node;
    this.#layer.refresh();
  }

  /**
   * @param {"selected" | "locked"} mark
   * @param {readonly number[]} nodes
   */
  mark(mark, nodes) {
    this.#marked[mark] = nodes;
    this.#layer.refresh();
  }

  /** @param {ArrayLike<number> | null} lit [nodes] 1: found by a search. null: no search */
  light(lit) {
    this.#lit = lit;
    this.#layer.refresh();
  }

  /** The colours of the page have changed. */
  recolour() {
    this.#colours = coloursNow();
    this.#layer.refresh();
  }

  /** @param {import("../drawing/canvas-layer.js").Frame} frame of a picture */
  drawOn(frame) {
    this.#draw(frame);
  }

  /** @param {import("../drawing/canvas-layer.js").Frame} frame */
  #draw(frame) {
    this.#drawRings(frame);
    this.#drawLocks(frame);
    if (frame.isStill && this.#drawing.room * frame.viewport.zoom >= ROOM_FOR_NAMES) {
      this.#drawNames(frame);
    }
  }

  /** @param {import("../drawing/canvas-layer.js").Frame} frame */
  #drawRings({ context, viewport }) {
    const selected = this.#marked.selected.map((node) => [node, 2, this.#colours.accent, 3]);
    const rings = [...selected, [this.#hovered, 1.5, this.#colours.text, 1], [this.#chosen, 3, this.#colours.accent, 4]];
    for (const [node, width, stroke, gap] of /** @type {[number, number, string, number][]} */ (rings)) {
      if (node >= 0) {
        const { x, y, radius } = this.#place(node, viewport);
        context.beginPath();
        context.arc(x, y, radius + gap, 0, 2 * Math.PI);
        context.lineWidth = width;
        context.strokeStyle = stroke;
        context.stroke();
      }
    }
  }

  /**
   * Padlocks beside the locked nodes.
   *
   * @param {import("../drawing/canvas-layer.js").Frame} frame
   */
  #drawLocks({ context, viewport }) {
    for (const node of this.#marked.locked) {
      const { x, y, radius } = this.#place(node, viewport);
      const [left, top] = [x + radius * 0.7 - LOCK_PIXELS / 2, y - radius * 0.7 - LOCK_PIXELS / 2];
      context.fillStyle = this.#colours.text;
      context.lineWidth = 2;
      context.strokeStyle = this.#colours.surface;
      context.strokeRect(left, top, LOCK_PIXELS, LOCK_PIXELS * 0.7);
      context.fillRect(left, top, LOCK_PIXELS, LOCK_PIXELS * 0.7);
      context.beginPath();
      context.arc(x + radius * 0.7, top, LOCK_PIXELS * 0.3, Math.PI, 0);
      context.lineWidth = 1.5;
      context.strokeStyle = this.#colours.text;
      context.stroke();
    }
  }

  /** @param {import("../drawing/canvas-layer.js").Frame} frame */
  #drawNames({ context, viewport, width, height }) {
    const seen = this.#order.filter((node) => {
      const { x, y } = this.#place(node, viewport);
      return x > 0 && x < width && y > 0 && y < height && (!this.#lit || this.#lit[node] || node === this.#chosen);
    });
    const nodes = seen.map((node) => this.#place(node, viewport));
    const taken = nodes.map(({ x, y, radius }) => ({ x: x - radius, y: y - radius, width: 2 * radius, height: 2 * radius }));
    const first = seen.includes(this.#chosen) ? [this.#chosen] : [];
    const wanted = [...first, ...seen.filter((node) => node !== this.#chosen)].slice(0, MOST_NAMES);
    const boxes = wanted.map((node) =>
      this.#boxesOf(context, node, viewport).filter((box) => box.x >= EDGE && box.x + box.width <= width - EDGE));
    context.textBaseline = "middle";
    context.lineJoin = "round";
    context.lineWidth = 3;
    freeBoxes(taken, boxes).forEach((box, index) => {
      if (box) {
        context.font = wanted[index] === this.#chosen ? BOLD : FONT;
        context.strokeStyle = this.#colours.surface;
        context.strokeText(this.#names[wanted[index]], box.x, box.y + LINE_PIXELS / 2);
        context.fillStyle = this.#colours.text;
        context.fillText(this.#names[wanted[index]], box.x, box.y + LINE_PIXELS / 2);
      }
    });
  }

  /**
   * The boxes that a name may stand in, the best first: right of its node, left, below, above.
   *
   * @param {CanvasRenderingContext2D} context
   * @param {number} node
   * @param {import("../drawing/canvas-layer.js").Viewport} viewport
   * @returns {import("./free-boxes.js").Box[]}
   */
  #boxesOf(context, node, viewport) {
    let width = this.#widths.get(node);
    if (width === undefined) {
      context.font = FONT;
      width = context.measureText(this.#names[node]).width;
      this.#widths.set(node, width);
    }
    const { x, y, radius } = this.#place(node, viewport);
    const size = { width, height: LINE_PIXELS };
    return [
      { x: x + radius + GAP, y: y - LINE_PIXELS / 2, ...size },
      { x: x - radius - GAP - width, y: y - LINE_PIXELS / 2, ...size },
      { x: x - width / 2, y: y + radius + 1, ...size },
      { x: x - width / 2, y: y - radius - 1 - LINE_PIXELS, ...size },
    ];
  }

  /**
   * @param {number} node
   * @param {import("../drawing/canvas-layer.js").Viewport} viewport
   */
  #place(node, { x, y, zoom }) {
    const drawing = this.#drawing;
    return { x: x + drawing.x[node] * zoom, y: y + drawing.y[node] * zoom, radius: drawing.radii[node] * zoom };
  }
}

function coloursNow() {
  return { text: colour("--text"), surface: colour("--surface"), accent: colour("--accent") };
}
