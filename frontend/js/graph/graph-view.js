/**
 * A graph on a canvas: nodes by Cytoscape, edges and names on canvases of our own. The only module that touches Cytoscape.
 *
 * Positions come from the server and never change. A new placement updates only the nodes whose look differs, in one
 * batch. Cytoscape holds no edges: it drew some hundreds of them too slowly for an animation.
 */

import { listenToKeys, zoomKeys } from "../drawing/keys.js";
import { Minimap } from "../drawing/minimap.js";
import { onThemeChange, prefersLessMotion } from "../ui/colours.js";
import { SvgContext } from "../ui/svg-context.js";
import { drawNode } from "./drawn-node.js";
import { EdgeLayer } from "./edge-layer.js";
import { followOnPage, leaveWheelToPage, link, listenToDrags, listenToNodes } from "./graph-gestures.js";
import { geometry, topView, wholeView } from "./graph-geometry.js";
import { graphStyle, lookClass, sizeClass } from "./graph-style.js";
import { LabelLayer } from "./label-layer.js";
import { nodeNames } from "./node-names.js";
import { shownName } from "../ui/names.js";

/** @typedef {import("../ui/contracts.js").GroupGraph} GroupGraph */

/**
 * @typedef {object} Picture how the nodes look
 * @property {readonly import("./graph-style.js").NodeLook[]} looks the same array while only `lookOf` changes
 * @property {ArrayLike<number>} lookOf [nodes] an index of `looks`
 * @property {ArrayLike<number> | null} placement [nodes] edges between two devices stand out
 * @property {ReadonlySet<number> | null} [cut] as `StepFacts` has it
 * @property {ArrayLike<number> | null} [deviceOfNode] for a picture of all ops: [ops] their devices where groups are on several
 */

/** With more groups this picture is too slow: the pages draw them in a flat one (`ops/flat-panel.js`). */
export const MOST_GROUPS_DRAWN = 3000;

const PADDING = 24;
/** Pixels from a group to its neighbour: fewer are unreadable, more are wasted. */
const LEAST_ROOM_PIXELS = 6;
const MOST_ROOM_PIXELS = 56;
const ZOOM_STEP = 1.35;
const [LEAST_ZOOM, MOST_ZOOM] = [0.02, 6];
const PAN_PIXELS = 60;

export class GraphView {
  #core;
  #forgetTheme;
  /** @type {ResizeObserver | null} */
  #observer = null;
  #nodes;
  #drawing;
  #edges;
  #labels;
  /** @type {Minimap | null} of two drawings with one view, one has it */
  #minimap = null;
  /** @type {Picture} */
  #picture = { looks: [], lookOf: [], placement: null };
  /** @type {string[]} [nodes] */
  #classes;
  /** @type {ArrayLike<number> | null} */
  #lit = null;
  /** @type {ArrayLike<number> | null} */
  #litEdges = null;
  #chosen = -1;
  /** Whether the whole graph has been asked for, and nobody has moved it since. */
  #showsAll = false;

  /**
   * @param {HTMLElement} host
   * @param {GroupGraph} graph
   * @param {import("./graph-gestures.js").NodeListeners} listeners
   * @param {GraphView | null} [twin] a drawing of the same graph: its nodes stand in the same places, and both always show
   *   the same part
   * @returns {Promise<GraphView>}
   */
  static async create(host, graph, listeners, twin = null) {
    const { default: cytoscape } = await import("../../vendor/cytoscape.esm.min.mjs");
    leaveWheelToPage(host);
    const drawing = twin ? twin.#drawing : geometry(graph, host.clientWidth / Math.max(1, host.clientHeight));
    const core = cytoscape({
      container: host,
      elements: elementsOf(drawing),
      style: graphStyle([], drawing),
      layout: { name: "preset", fit: false },
      minZoom: LEAST_ZOOM,
      maxZoom: MOST_ZOOM,
      autoungrabify: true,
      boxSelectionEnabled: true,
      autounselectify: true,
      selectionType: "single",
      pixelRatio: "auto",
    });
    const view = new GraphView({ host, core, drawing, names: nodeNames(graph.groups.map(shownName)) }, listeners);
    if (twin) {
      link(twin.#core, core);
    } else {
      view.#addMinimap(host);
    }
    return view;
  }

  /**
   * @param {object} made
   * @param {HTMLElement} made.host
   * @param {import("../../vendor/cytoscape.esm.min.mjs").default.Core} made.core
   * @param {import("./graph-geometry.js").Drawing} made.drawing
   * @param {string[]} made.names [nodes]
   * @param {import("./graph-gestures.js").NodeListeners} listeners
   */
  constructor({ host, core, drawing, names }, listeners) {
    this.#core = core;
    this.#nodes = core.nodes().toArray();
    this.#drawing = drawing;
    this.#classes = this.#nodes.map((node) => node.classes().join(" "));
    this.#edges = new EdgeLayer(host, drawing);
    this.#labels = new LabelLayer(host, drawing, names);
    const hover = (/** @type {number} */ node, /** @type {number} */ x, /** @type {number} */ y) => {
      this.#labels.hover(node);
      listeners.onHover(node, x, y);
    };
    listenToNodes(core, { ...listeners, onHover: hover });
    listenToDrags(host, core, listeners);
    core.on("viewport", () => {
      this.#showsAll = false;
      this.#follow();
      hover(-1, 0, 0);
    });
    this.#fitWhenResized(host);
    followOnPage(host, core);
    listenToKeys(host, {
      ...zoomKeys(this),
      ArrowLeft: () => core.panBy({ x: PAN_PIXELS, y: 0 }),
      ArrowRight: () => core.panBy({ x: -PAN_PIXELS, y: 0 }),
      ArrowUp: () => core.panBy({ x: 0, y: PAN_PIXELS }),
      ArrowDown: () => core.panBy({ x: 0, y: -PAN_PIXELS }),
    });
    this.#forgetTheme = onThemeChange(() => this.#restyle());
    this.#showFirst();
    this.#follow();
  }

  /** End it: Cytoscape asks for frames until then. */
  destroy() {
    this.#forgetTheme();
    this.#observer?.disconnect();
    this.#core.destroy();
  }

  /**
   * Draw the nodes as `picture` says.
   *
   * @param {Picture} picture
   * @returns {number} how many nodes changed
   */
  show(picture) {
    const before = this.#picture;
    this.#picture = picture;
    if (picture.looks !== before.looks) {
      this.#core.style(graphStyle(picture.looks, this.#drawing));
    }
    if (picture.placement !== before.placement || picture.cut !== before.cut) {
      this.#showEdges();
    }
    this.#minimap?.show(picture);
    return this.#reclass();
  }

  #showEdges() {
    this.#edges.show(this.#picture.placement, this.#picture.cut ?? null, this.#lit, this.#litEdges);
  }

  /**
   * Fade what a search has not found.
   *
   * @param {ArrayLike<number> | null} lit [nodes] 1: found. null: no search
   * @param {ArrayLike<number> | null} [litEdges] [edges] null: those between found nodes
   */
  light(lit, litEdges = null) {
    this.#lit = lit;
    this.#litEdges = litEdges;
    this.#showEdges();
    this.#labels.light(lit);
    this.#reclass();
  }

  /** @param {Uint8Array} hidden [edges] 1: not drawn, unless its node is chosen */
  hideEdges(hidden) {
    this.#edges.hide(hidden);
  }

  /**
   * @param {number} node -1 for none
   * @param {boolean} reveal whether to scroll to it
   */
  choose(node, reveal) {
    this.#chosen = node;
    this.#edges.choose(node);
    this.#labels.choose(node);
    if (node >= 0 && reveal) {
      this.#reveal(node);
    }
  }

  /**
   * Mark nodes in addition to the chosen one.
   *
   * @param {"selected" | "locked"} mark
   * @param {readonly number[]} nodes
   */
  mark(mark, nodes) {
    this.#labels.mark(mark, nodes);
  }

  fit() {
    this.#fit();
    this.#showsAll = true; // after the events of its own moves
  }

  #fit() {
    if (this.#nodes.length > 0) {
      const most = Math.min(MOST_ZOOM, MOST_ROOM_PIXELS / this.#drawing.room);
      this.#core.viewport(wholeView(this.#drawing, this.#size, PADDING, [LEAST_ZOOM, most]));
    }
  }

  get #size() {
    return { width: this.#core.width(), height: this.#core.height() };
  }

  /** Show the whole graph, or its top if the whole would be too small to read. */
  #showFirst() {
    this.fit();
    const least = Math.min(MOST_ZOOM, LEAST_ROOM_PIXELS / this.#drawing.room);
    if (this.#core.zoom() < least && this.#nodes.length > 1) {
      this.#core.viewport(topView(this.#drawing, this.#size, PADDING, least));
    }
  }

  /** @param {boolean} closer */
  zoom(closer) {
    const factor = closer ? ZOOM_STEP : 1 / ZOOM_STEP;
    const renderedPosition = { x: this.#core.width() / 2, y: this.#core.height() / 2 };
    this.#core.zoom({ level: this.#core.zoom() * factor, renderedPosition });
  }

  /**
   * The middle of a node, in pixels of the canvas; for tests and menus.
   *
   * @param {number} node
   * @returns {{ x: number, y: number }}
   */
  pixelOf(node) {
    return this.#nodes[node].renderedPosition();
  }

  /**
   * Draw what is shown, for a picture of the size of the host.
   *
   * @param {import("../ui/svg-elements.js").Surface} surface
   */
  drawOn(surface) {
    const context = /** @type {CanvasRenderingContext2D} */ (surface);
    const viewport = { ...this.#core.pan(), zoom: this.#core.zoom() };
    const [width, height] = [this.#core.width(), this.#core.height()];
    const frame = { context, viewport, width, height, isStill: true };
    context.save();
    context.beginPath();
    context.rect(0, 0, width, height);
    context.clip();
    this.#edges.drawOn(frame, () => (surface instanceof SvgContext ? /** @type {any} */ (surface.newPath()) : new Path2D()));
    this.#nodes.forEach((_, index) => drawNode(context, this.#drawnNode(index)));
    context.globalAlpha = 1;
    this.#labels.drawOn(frame);
    context.restore();
  }

  /** @param {number} index */
  #drawnNode(index) {
    const node = this.#nodes[index];
    const border = { colour: node.style("border-color"), width: parseFloat(node.style("border-width")) * this.#core.zoom() };
    const stripes = this.#picture.looks[this.#picture.lookOf[index]]?.stripes ?? [];
    const look = { shape: node.style("shape"), colour: node.style("background-color"), stripes, border, opacity: Number(node.style("opacity")) };
    return { ...node.renderedPosition(), radius: node.renderedWidth() / 2, ...look };
  }

  /** @returns {number} how many nodes changed */
  #reclass() {
    const { lookOf } = this.#picture;
    let changed = 0;
    this.#core.batch(() => {
      this.#nodes.forEach((node, index) => {
        const faded = this.#lit && !this.#lit[index] ? " faded" : "";
        const classes = `${sizeClass(this.#drawing.levels[index])} ${lookClass(lookOf[index])}${faded}`;
        if (classes !== this.#classes[index]) {
          this.#classes[index] = classes;
          node.classes(classes);
          changed += 1;
        }
      });
    });
    return changed;
  }

  /** @param {number} index */
  #reveal(index) {
    const node = this.#nodes[index];
    const box = node.renderedBoundingBox();
    const seen = box.x1 > 0 && box.y1 > 0 && box.x2 < this.#core.width() && box.y2 < this.#core.height();
    if (seen) {
      return;
    }
    if (prefersLessMotion()) {
      this.#core.center(node);
    } else {
      this.#core.animate({ center: { eles: node } }, { duration: 200 });
    }
  }

  /** @param {HTMLElement} host */
  #addMinimap(host) {
    this.#minimap = new Minimap(host, this.#drawing, (x, y) => {
      const zoom = this.#core.zoom();
      this.#core.pan({ x: this.#core.width() / 2 - x * zoom, y: this.#core.height() / 2 - y * zoom });
    });
    this.#follow();
  }

  /** Let edges, names and the small picture follow the nodes. */
  #follow() {
    const viewport = { ...this.#core.pan(), zoom: this.#core.zoom() };
    this.#edges.move(viewport);
    this.#labels.move(viewport);
    this.#minimap?.move(viewport, this.#core.width(), this.#core.height());
  }

  /** @param {HTMLElement} host */
  #fitWhenResized(host) {
    let width = host.clientWidth;
    let height = host.clientHeight;
    this.#observer = new ResizeObserver(() => {
      const isSeen = host.clientWidth > 0 && host.clientHeight > 0;
      if (isSeen && (host.clientWidth !== width || host.clientHeight !== height)) {
        const shows = this.#showsAll;
        ({ clientWidth: width, clientHeight: height } = host);
        this.#core.resize();
        if (shows) {
          this.fit();
        } else if (this.#chosen >= 0) {
          this.#reveal(this.#chosen);
        }
        this.#follow();
      }
    });
    this.#observer.observe(host);
  }

  #restyle() {
    this.#core.style(graphStyle(this.#picture.looks, this.#drawing));
    this.#edges.recolour();
    this.#labels.recolour();
    this.#minimap?.recolour();
  }
}

/**
 * @param {import("./graph-geometry.js").Drawing} drawing
 * @returns {import("../../vendor/cytoscape.esm.min.mjs").default.ElementDefinition[]}
 */
function elementsOf({ x, y, levels }) {
  return Array.from(x, (_, index) => ({
    data: { id: `node-${index}`, index },
    position: { x: x[index], y: y[index] },
    classes: sizeClass(levels[index]),
  }));
}
