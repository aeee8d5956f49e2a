/**
 * The whole graph, small, in the corner of its picture, with the visible part as a frame; a press or a drag moves the
 * picture there. Hidden while the whole graph is visible.
 */

import { paint } from "../ui/colours.js";
import { element } from "../ui/dom.js";
import { seen as seenPart } from "./viewport.js";

/** @typedef {import("./viewport.js").Viewport} Viewport */

/**
 * @typedef {object} Drawing
 * @property {ArrayLike<number>} x [nodes]
 * @property {ArrayLike<number>} y [nodes]
 * @property {ArrayLike<number>} radii [nodes]
 * @property {number} room between neighbours
 * @property {readonly { left: number, right: number }[]} strips parts of the layers
 * @property {number} height
 *
 * @typedef {object} Looks
 * @property {readonly { colour: string }[]} looks colours of the style sheet (`--ramp-2`), or `#rrggbb`
 * @property {ArrayLike<number>} lookOf [nodes] an index of `looks`
 */

/** Pixels of the longer side, and the most of the picture's own side that it takes. */
const LONGEST = 132;
const MOST_SHARE = 0.3;
const LEAST_DOT = 1.5;
/** A placement is drawn once it has stayed for so long: not while the player runs past it. */
const SETTLED_MILLISECONDS = 200;

/**
 * @typedef {object} Box in the graph's units
 * @property {number} left
 * @property {number} top
 * @property {number} width
 * @property {number} height
 */

export class Minimap {
  #drawing;
  #box;
  #canvas = element("canvas");
  #frame = element("div", { class: "minimap-frame" });
  #root = element("div", { class: "minimap", hidden: true, "aria-hidden": "true" }, this.#canvas, this.#frame);
  /** @type {Looks | null} */
  #picture = null;
  #timer = 0;
  /** Whether what is drawn is not the picture any more. */
  #isStale = true;
  /** Pixels of a unit of the graph, once it has been visible. */
  #scale = 0;

  /**
   * @param {HTMLElement} host of the picture
   * @param {Drawing} drawing
   * @param {(x: number, y: number) => void} onMove called with the point of the graph to show in the middle
   */
  constructor(host, drawing, onMove) {
    this.#drawing = drawing;
    this.#box = boxOf(drawing);
    host.append(this.#root);
    this.#listen(onMove);
  }

  /** @param {Looks} picture drawn once it has stayed for a moment */
  show(picture) {
    this.#picture = picture;
    this.#drawSoon();
  }

  /** The colours of the page have changed. */
  recolour() {
    this.#drawSoon();
  }

  /**
   * @param {Viewport} viewport of the picture
   * @param {number} width of the picture in pixels
   * @param {number} height
   */
  move(viewport, width, height) {
    const seen = seenBox(viewport, width, height);
    this.#root.hidden = contains(seen, this.#box) || width === 0 || height === 0;
    if (this.#root.hidden) {
      return;
    }
    this.#resize(width, height);
    if (this.#isStale && !this.#timer) {
      this.#draw();
    }
    const scale = this.#scale;
    const frame = within(seen, this.#box);
    Object.assign(this.#frame.style, {
      width: `${frame.width * scale}px`,
      height: `${frame.height * scale}px`,
      transform: `translate(${(frame.left - this.#box.left) * scale}px, ${(frame.top - this.#box.top) * scale}px)`,
    });
  }

  /**
   * @param {number} width of the picture
   * @param {number} height
   */
  #resize(width, height) {
    const longest = Math.min(LONGEST, MOST_SHARE * Math.max(width, height));
    const scale = Math.min(longest / Math.max(this.#box.width, this.#box.height), (MOST_SHARE * width) / this.#box.width);
    if (scale !== this.#scale) {
      this.#scale = scale;
      this.#isStale = true;
    }
  }

  #drawSoon() {
    this.#isStale = true;
    window.clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => {
      this.#timer = 0;
      if (!this.#root.hidden) {
        this.#draw();
      }
    }, SETTLED_MILLISECONDS);
  }

  #draw() {
    const [{ x, y, radii, strips, height }, box, scale] = [this.#drawing, this.#box, this.#scale];
    this.#isStale = false;
    const ratio = window.devicePixelRatio || 1;
    const size = { width: box.width * scale, height: box.height * scale };
    Object.assign(this.#canvas, { width: Math.round(size.width * ratio), height: Math.round(size.height * ratio) });
    Object.assign(this.#canvas.style, { width: `${size.width}px`, height: `${size.height}px` });
    const context = /** @type {CanvasRenderingContext2D} */ (this.#canvas.getContext("2d"));
    context.scale(ratio * scale, ratio * scale);
    context.translate(-box.left, -box.top);
    context.fillStyle = paint("--strip");
    for (const { left, right } of strips) {
      context.fillRect(left, 0, right - left, height);
    }
    const { looks, lookOf } = this.#picture ?? { looks: [], lookOf: [] };
    const colours = looks.map((look) => paint(look.colour));
    const unplaced = paint("--node-unplaced");
    for (let node = 0; node < x.length; node += 1) {
      const radius = Math.max(radii[node], LEAST_DOT / scale / 2);
      context.fillStyle = colours[lookOf[node]] ?? unplaced;
      context.fillRect(x[node] - radius, y[node] - radius, 2 * radius, 2 * radius);
    }
  }

  /** @param {(x: number, y: number) => void} onMove */
  #listen(onMove) {
    const go = (/** @type {PointerEvent} */ { clientX, clientY }) => {
      const { left, top } = this.#canvas.getBoundingClientRect();
      onMove(this.#box.left + (clientX - left) / this.#scale, this.#box.top + (clientY - top) / this.#scale);
    };
    this.#root.addEventListener("pointerdown", (event) => {
      if (event.button === 0) {
        this.#root.setPointerCapture(event.pointerId);
        go(event);
      }
    });
    this.#root.addEventListener("pointermove", (event) => this.#root.hasPointerCapture(event.pointerId) && go(event));
    for (const type of ["pointerdown", "pointermove", "pointerup", "mousedown", "mousemove", "touchstart", "touchmove", "wheel"]) {
      this.#root.addEventListener(type, (event) => event.stopPropagation(), { passive: true }); // not for the picture below
    }
  }
}

/**
 * Everything that is drawn.
 *
 * @param {Drawing} drawing
 * @returns {Box}
 */
export function boxOf({ x, y, radii, room }) {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let node = 0; node < x.length; node += 1) {
    left = Math.min(left, x[node] - radii[node]);
    top = Math.min(top, y[node] - radii[node]);
    right = Math.max(right, x[node] + radii[node]);
    bottom = Math.max(bottom, y[node] + radii[node]);
  }
  const edge = room / 4;
  return x.length === 0
    ? { left: 0, top: 0, width: 1, height: 1 }
    : { left: left - edge, top: top - edge, width: right - left + 2 * edge, height: bottom - top + 2 * edge };
}

/**
 * The part of the graph that is visible.
 *
 * @param {Viewport} viewport
 * @param {number} width of the picture in pixels
 * @param {number} height
 * @returns {Box}
 */
export function seenBox(viewport, width, height) {
  const { left, top, right, bottom } = seenPart(viewport, { width, height });
  return { left, top, width: right - left, height: bottom - top };
}

/**
 * @param {Box} outer
 * @param {Box} inner
 * @returns {boolean}
 */
export function contains(outer, inner) {
  return (
    outer.left <= inner.left &&
    outer.top <= inner.top &&
    outer.left + outer.width >= inner.left + inner.width &&
    outer.top + outer.height >= inner.top + inner.height
  );
}

/**
 * The part of a box that is in another one; at its edge, without area, if they are apart.
 *
 * @param {Box} box
 * @param {Box} outer
 * @returns {Box}
 */
export function within(box, outer) {
  const [left, right] = span(box.left, box.width, outer.left, outer.width);
  const [top, bottom] = span(box.top, box.height, outer.top, outer.height);
  return { left, top, width: right - left, height: bottom - top };
}

/**
 * @param {number} start
 * @param {number} length
 * @param {number} least
 * @param {number} room
 * @returns {[number, number]}
 */
function span(start, length, least, room) {
  const clamped = (/** @type {number} */ at) => Math.max(least, Math.min(at, least + room));
  return [clamped(start), clamped(start + length)];
}
