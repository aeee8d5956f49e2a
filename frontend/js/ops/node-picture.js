/** Draws the nodes of a flat graph onto a canvas: squares from afar, shapes from nearby, names from nearer still. */

import { shapeCorners } from "../graph/devices.js";
import { colour } from "../ui/colours.js";
import { element } from "../ui/dom.js";
import { cutName } from "../ui/format.js";
import { detailOf } from "./detail.js";
import { drawDots, mixed, packed, square } from "./dots.js";
import { NodeGrid } from "./node-grid.js";
import { pixelAt, seen } from "../drawing/viewport.js";

/** @typedef {import("../drawing/viewport.js").Viewport} Viewport */

/**
 * @typedef {object} Scene
 * @property {Viewport} view
 * @property {import("../drawing/viewport.js").Size} size of the canvas in pixels of the screen
 * @property {number} ratio pixels of the canvas for one of the screen
 * @property {number} chosen group, -1 for none
 */

const RIM_PIXELS = 3;
/** How much of its own colour a node keeps that a search has not found. */
const FADED = 0.18;

export class NodePicture {
  #graph;
  #grid;
  #dots = element("canvas");
  /** @type {import("./flat-view.js").Picture} */
  #picture = { looks: [{ colour: "--node-unplaced", shape: "ellipse" }], lookOf: [], placement: null };
  /** @type {ArrayLike<number> | null} */
  #lit = null;
  /** @type {ArrayLike<number>} [nodes] the look of each, or that of its group */
  #lookOf = [];
  /** @type {Uint32Array} [nodes] */
  #colours;
  /** @type {(node: number) => string} */
  #nameOf = () => "";

  /**
   * @param {import("./flat-graph.js").FlatGraph} graph
   * @param {readonly Int32Array[]} nodesOf [groups]
   */
  constructor(graph, nodesOf) {
    this.#graph = graph;
    this.nodesOf = nodesOf;
    this.#grid = new NodeGrid(graph.x, graph.y, graph.width, graph.height);
    this.#colours = new Uint32Array(graph.count);
  }

  /**
   * @param {import("./flat-view.js").Picture} picture
   * @param {ArrayLike<number> | null} lit [groups] 1: not faded. null: none is
   */
  paint(picture, lit) {
    this.#picture = picture;
    this.#lit = lit;
    const surface = hexOf("--surface");
    const plain = picture.looks.map((look) => packed(hexOf(look.colour)));
    const faded = picture.looks.map((look) => packed(mixed(hexOf(look.colour), surface, FADED)));
    const { group } = this.#graph;
    this.#lookOf = picture.deviceOfNode ?? Array.from(group, (each) => picture.lookOf[each] ?? 0);
    for (let node = 0; node < this.#colours.length; node += 1) {
      this.#colours[node] = (lit && !lit[group[node]] ? faded : plain)[this.#lookOf[node]];
    }
  }

  /** @returns {ArrayLike<number>} [nodes] an index of the looks that were painted last */
  get lookOf() {
    return this.#lookOf;
  }

  /** @param {(node: number) => string} nameOf untrusted text */
  showNames(nameOf) {
    this.#nameOf = nameOf;
  }

  /**
   * @param {number} x of the drawing
   * @param {number} y
   * @param {number} reach
   * @returns {number} the node there, -1 for none
   */
  nodeAt(x, y, reach) {
    return this.#grid.nearest(x, y, reach);
  }

  /**
   * @param {CanvasRenderingContext2D} context scaled to pixels of the screen
   * @param {Scene} scene
   */
  draw(context, scene) {
    if (detailOf(scene.view.zoom) === "dots") {
      this.#drawDots(context, scene);
    } else {
      this.#drawShapes(context, scene);
    }
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Scene} scene
   */
  #drawDots(context, { view, size, ratio, chosen }) {
    const [width, height] = [context.canvas.width, context.canvas.height];
    if (this.#dots.width !== width || this.#dots.height !== height) {
      [this.#dots.width, this.#dots.height] = [width, height];
    }
    const picture = this.#dots.getContext("2d", { willReadFrequently: true });
    if (!picture) {
      return;
    }
    const image = picture.createImageData(width, height);
    const pixels = { data: new Uint32Array(image.data.buffer), width, height };
    const scaled = { zoom: view.zoom * ratio, x: view.x * ratio, y: view.y * ratio };
    const { x, y, sizes } = this.#graph;
    const dots = { x, y, sizes, colours: this.#colours };
    drawDots(pixels, scaled, dots, (act) => this.#grid.inBox(seen(view, size, 8), act));
    this.#drawChosenDots(pixels, scaled, chosen);
    picture.putImageData(image, 0, 0);
    context.drawImage(this.#dots, 0, 0, width / ratio, height / ratio);
  }

  /**
   * The nodes of the chosen group over all others, with a rim.
   *
   * @param {import("./dots.js").Pixels} pixels
   * @param {Viewport} view
   * @param {number} chosen
   */
  #drawChosenDots(pixels, { zoom: scale, x: left, y: top }, chosen) {
    const accent = packed(hexOf("--accent"));
    const { x, y, sizes } = this.#graph;
    const squares = (/** @type {number} */ rim, /** @type {(node: number) => number} */ paintOf) => {
      for (const node of this.nodesOf[chosen] ?? []) {
        const side = Math.max(2, Math.round(sizes[node] * scale)) + 2 * rim;
        square(pixels, left + x[node] * scale, top + y[node] * scale, side, paintOf(node));
      }
    };
    squares(RIM_PIXELS, () => accent);
    squares(0, (node) => this.#colours[node]);
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Scene} scene
   */
  #drawShapes(context, { view, size, chosen }) {
    const { group } = this.#graph;
    const { looks } = this.#picture;
    /** @type {Map<string, number[]>} look and whether it is faded → nodes */
    const alike = new Map();
    /** @type {number[]} */
    const nodes = [];
    this.#grid.inBox(seen(view, size, view.zoom), (node) => {
      const key = `${this.#lookOf[node]} ${!this.#lit || this.#lit[group[node]] ? 1 : FADED}`;
      const found = alike.get(key) ?? [];
      alike.set(key, found);
      found.push(node);
      nodes.push(node);
    });
    context.lineWidth = 1;
    context.strokeStyle = hexOf("--border-strong");
    for (const [key, members] of alike) {
      const [look, opacity] = key.split(" ").map(Number);
      const { colour: filling, shape } = looks[look] ?? looks[0];
      context.globalAlpha = opacity;
      context.fillStyle = hexOf(filling);
      context.beginPath();
      members.forEach((node) => this.#trace(context, view, node, pointsOf(shape), 0));
      context.fill();
      context.stroke();
    }
    context.globalAlpha = 1;
    this.#markChosen(context, view, nodes, chosen);
    if (detailOf(view.zoom) === "names") {
      this.#drawNames(context, view, nodes);
    }
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Viewport} view
   * @param {number[]} nodes
   * @param {number} chosen
   */
  #markChosen(context, view, nodes, chosen) {
    const { looks } = this.#picture;
    context.strokeStyle = hexOf("--accent");
    context.lineWidth = RIM_PIXELS;
    context.beginPath();
    for (const node of nodes) {
      if (this.#graph.group[node] === chosen) {
        this.#trace(context, view, node, pointsOf((looks[this.#lookOf[node]] ?? looks[0]).shape), RIM_PIXELS);
      }
    }
    context.stroke();
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Viewport} view
   * @param {number} node
   * @param {readonly (readonly [number, number])[] | null} points null: a circle
   * @param {number} rim pixels
   */
  #trace(context, view, node, points, rim) {
    const { x, y } = pixelAt(view, this.#graph, node);
    const radius = (this.#graph.sizes[node] * view.zoom) / 2 + rim;
    if (!points) {
      context.moveTo(x + radius, y);
      context.arc(x, y, radius, 0, 2 * Math.PI);
      return;
    }
    points.forEach(([right, down], index) => {
      const [toX, toY] = [x + right * radius, y + down * radius];
      index ? context.lineTo(toX, toY) : context.moveTo(toX, toY);
    });
    context.closePath();
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Viewport} view
   * @param {number[]} nodes
   */
  #drawNames(context, view, nodes) {
    const size = Math.min(12, view.zoom / 5);
    context.font = `${size}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "top";
    context.strokeStyle = hexOf("--surface");
    context.fillStyle = hexOf("--text");
    context.lineWidth = 3;
    context.lineJoin = "round";
    for (const node of nodes) {
      const { x, y } = pixelAt(view, this.#graph, node);
      const words = cutName(this.#nameOf(node), Math.floor((1.7 * view.zoom) / size));
      const below = y + (this.#graph.sizes[node] * view.zoom) / 2 + 2;
      context.strokeText(words, x, below);
      context.fillText(words, x, below);
    }
  }
}

/** @type {CanvasRenderingContext2D | null} */
let probe = null;

/**
 * @param {string} wish a colour of the style sheet (`--ramp-2`), or `#rrggbb`
 * @returns {string} `#rrggbb`
 */
export function hexOf(wish) {
  probe ??= element("canvas").getContext("2d");
  if (!wish.startsWith("--") || !probe) {
    return wish;
  }
  probe.fillStyle = "#808080";
  probe.fillStyle = colour(wish);
  return String(probe.fillStyle).slice(0, 7);
}

/** @type {Map<string, readonly (readonly [number, number])[] | null>} */
const corners = new Map();

/**
 * @param {string} shape
 * @returns {readonly (readonly [number, number])[] | null} its corners in a box of 2 × 2 around 0; null: a circle
 */
function pointsOf(shape) {
  if (!corners.has(shape)) {
    corners.set(shape, shapeCorners(/** @type {import("../graph/devices.js").Shape} */ (shape)));
  }
  return corners.get(shape) ?? null;
}
