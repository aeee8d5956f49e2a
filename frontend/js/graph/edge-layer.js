/**
 * The edges, on a canvas under the nodes: one path for all that look alike. Width and strength grow with the bytes;
 * edges that cross devices have a colour of their own; arrows are drawn once the graph stands still.
 */

import { CanvasLayer } from "../drawing/canvas-layer.js";
import { colour } from "../ui/colours.js";
import { crosses } from "./placement.js";

/** @typedef {import("./graph-geometry.js").Drawing} Drawing */

/** By strength: pixels, and how opaque. */
const WIDTHS = [0.7, 1, 1.6, 2.6];
const OPACITIES = [0.35, 0.5, 0.75, 0.9];
const NEAR_WIDTH = 2.2;
const FADED = 0.12;
/** How much fainter an edge is that passes over a whole strip. */
const FAR = 0.4;
/** Pixels from a node to its neighbour from which arrows are drawn, and from which lines have their full width. */
const ROOM_FOR_ARROWS = 14;
const ROOM_FOR_WIDTH = 30;
const MOST_ARROWS = 6000;

const PLAIN = 0;
const CROSSING = 1;
const FADING = 2;
const KINDS = 3;
const LOOKS = WIDTHS.length * 2;

export class EdgeLayer {
  #drawing;
  #layer;
  /** @type {Uint8Array} [edges] */
  #kinds;
  /** @type {Uint8Array} [edges] 1: left out */
  #hidden;
  /** @type {Path2D[] | null} [kinds × (strengths, then those of far edges)], in the graph's units */
  #paths = null;
  #near = -1;
  /** @type {Path2D | null} */
  #nearPath = null;
  #colours = coloursNow();

  /**
   * @param {HTMLElement} host
   * @param {Drawing} drawing
   */
  constructor(host, drawing) {
    this.#drawing = drawing;
    this.#kinds = new Uint8Array(drawing.edges.length);
    this.#hidden = new Uint8Array(drawing.edges.length);
    this.#layer = new CanvasLayer(host, "under", (frame) => this.#draw(frame));
  }

  /** @param {import("../drawing/canvas-layer.js").Viewport} viewport */
  move(viewport) {
    this.#layer.move(viewport);
  }

  /**
   * @param {ArrayLike<number> | null} placement [nodes] edges between two devices cross
   * @param {ReadonlySet<number> | null} cut as `StepFacts` has it
   * @param {ArrayLike<number> | null} lit [nodes] 1: found by a search; edges of others fade. null: no search
   * @param {ArrayLike<number> | null} litEdges [edges] 1: does not fade. null: as `lit` says
   */
  show(placement, cut, lit, litEdges) {
    this.#drawing.edges.forEach((edge, index) => {
      const { source, target } = edge;
      const fades = litEdges ? !litEdges[index] : lit !== null && !(lit[source] && lit[target]);
      this.#kinds[index] = fades ? FADING : placement !== null && crosses(placement, edge, cut) ? CROSSING : PLAIN;
    });
    this.#changed();
  }

  /** @param {Uint8Array} hidden [edges] 1: left out */
  hide(hidden) {
    this.#hidden = hidden;
    this.#changed();
  }

  /** @param {number} node whose edges stand out, -1 for none */
  choose(node) {
    this.#near = node;
    this.#changed();
  }

  /** The colours of the page have changed. */
  recolour() {
    this.#colours = coloursNow();
    this.#layer.refresh();
  }

  #changed() {
    this.#paths = null;
    this.#layer.refresh();
  }

  /**
   * Draw the edges for a picture.
   *
   * @param {import("../drawing/canvas-layer.js").Frame} frame
   * @param {() => Path2D} newPath of the kind that its context takes
   */
  drawOn(frame, newPath) {
    this.#paths = this.#makePaths(newPath);
    this.#draw(frame);
    this.#paths = null;
  }

  /** @param {() => Path2D} newPath */
  #makePaths(newPath) {
    const paths = Array.from({ length: KINDS * LOOKS }, newPath);
    this.#nearPath = newPath();
    this.#drawing.edges.forEach((edge, index) => {
      if (this.#isNear(edge)) {
        this.#trace(/** @type {Path2D} */ (this.#nearPath), edge);
      } else if (!this.#hidden[index]) {
        this.#trace(paths[this.#kinds[index] * LOOKS + edge.strength + (edge.isFar ? WIDTHS.length : 0)], edge);
      }
    });
    return paths;
  }

  /** @param {import("./graph-geometry.js").DrawnEdge} edge */
  #isNear({ source, target }) {
    return this.#near >= 0 && (source === this.#near || target === this.#near);
  }

  /**
   * @param {Path2D} path
   * @param {import("./graph-geometry.js").DrawnEdge} edge
   */
  #trace(path, { source, target, bendX, bendY }) {
    const { x, y } = this.#drawing;
    path.moveTo(x[source], y[source]);
    path.quadraticCurveTo(bendX, bendY, x[target], y[target]);
  }

  /** @param {import("../drawing/canvas-layer.js").Frame} frame */
  #draw({ context, viewport, width, height, isStill }) {
    const room = this.#drawing.room * viewport.zoom;
    const scale = Math.min(1.4, Math.max(0.6, room / ROOM_FOR_WIDTH));
    this.#paths ??= this.#makePaths(() => new Path2D());
    context.save();
    context.translate(viewport.x, viewport.y);
    context.scale(viewport.zoom, viewport.zoom);
    if (this.#drawing.strips.length > 1) {
      this.#drawStrips(context);
    }
    this.#paths.forEach((path, index) => {
      const [kind, strength] = [Math.floor(index / LOOKS), index % WIDTHS.length];
      const isFar = index % LOOKS >= WIDTHS.length;
      context.globalAlpha = kind === FADING ? FADED : OPACITIES[strength] * (isFar ? FAR : 1);
      context.strokeStyle = this.#colours.ofKind[kind];
      context.lineWidth = (WIDTHS[strength] * scale) / viewport.zoom;
      context.stroke(path);
    });
    context.globalAlpha = 1;
    context.strokeStyle = this.#colours.near;
    context.lineWidth = (NEAR_WIDTH * scale) / viewport.zoom;
    context.stroke(/** @type {Path2D} */ (this.#nearPath));
    context.restore();
    if (isStill && room >= ROOM_FOR_ARROWS) {
      this.#drawArrows(context, viewport, { width, height, size: 3.2 + 1.6 * scale });
    }
  }

  /**
   * Bands behind the strips, with a tip where their data goes on in the next one.
   *
   * @param {CanvasRenderingContext2D} context
   */
  #drawStrips(context) {
    const { strips, room, height } = this.#drawing;
    context.fillStyle = this.#colours.strip;
    for (const { left, right, leadsUp } of strips) {
      const [begin, end] = leadsUp ? [height, 0] : [0, height];
      const tip = leadsUp ? -room / 2 : room / 2;
      context.beginPath();
      context.moveTo(left - room / 4, begin);
      context.lineTo(right + room / 4, begin);
      context.lineTo(right + room / 4, end - tip);
      context.lineTo((left + right) / 2, end);
      context.lineTo(left - room / 4, end - tip);
      context.fill();
    }
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {import("../drawing/canvas-layer.js").Viewport} viewport
   * @param {{ width: number, height: number, size: number }} options of the visible part; `size` of an arrow
   */
  #drawArrows(context, { x: left, y: top, zoom }, { width, height, size }) {
    const { x, y, radii, edges } = this.#drawing;
    let drawn = 0;
    edges.forEach((edge, index) => {
      const near = this.#isNear(edge);
      if (drawn >= MOST_ARROWS || (this.#hidden[index] && !near) || (this.#kinds[index] === FADING && !near)) {
        return;
      }
      const { target, bendX, bendY, strength, isFar } = edge;
      const [tipX, tipY] = [left + x[target] * zoom, top + y[target] * zoom];
      if (tipX < -size || tipY < -size || tipX > width + size || tipY > height + size) {
        return;
      }
      drawn += 1;
      const [alongX, alongY] = unit(x[target] - bendX, y[target] - bendY);
      const gap = radii[target] * zoom + 1;
      context.globalAlpha = near ? 1 : OPACITIES[strength] * (isFar ? FAR : 1);
      context.fillStyle = near ? this.#colours.near : this.#colours.ofKind[this.#kinds[index]];
      const [endX, endY] = [tipX - alongX * gap, tipY - alongY * gap];
      const [backX, backY] = [endX - alongX * size * 1.5, endY - alongY * size * 1.5];
      context.beginPath();
      context.moveTo(endX, endY);
      context.lineTo(backX - alongY * size * 0.6, backY + alongX * size * 0.6);
      context.lineTo(backX + alongY * size * 0.6, backY - alongX * size * 0.6);
      context.fill();
    });
    context.globalAlpha = 1;
  }
}

/**
 * @param {number} x
 * @param {number} y
 * @returns {[number, number]} its direction
 */
function unit(x, y) {
  const length = Math.hypot(x, y) || 1;
  return [x / length, y / length];
}

function coloursNow() {
  const faint = colour("--edge");
  return { ofKind: [faint, colour("--edge-crossing"), faint], near: colour("--accent"), strip: colour("--strip") };
}
