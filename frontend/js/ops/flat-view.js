/**
 * All ops, or all groups of a large graph, on one canvas. Places come from the server and never change.
 *
 * Nodes are drawn anew for each frame: as squares of pixels from afar, as shapes and with names from nearby. Edges are a
 * picture that moves with the view and is drawn anew once the view stands still; edges that cross devices are another
 * one, left out while the placement changes.
 */

import { Canvas } from "../drawing/canvas.js";
import { listenToGrip } from "../drawing/grip.js";
import { listenToKeys, zoomKeys } from "../drawing/keys.js";
import { Minimap } from "../drawing/minimap.js";
import { crosses } from "../graph/placement.js";
import { onThemeChange } from "../ui/colours.js";
import { EdgePicture } from "./edge-picture.js";
import { detailOf } from "./detail.js";
import { drawLayers, layersWithPlaces } from "./layer-labels.js";
import { hexOf, NodePicture } from "./node-picture.js";
import { centred, fitted, panned, pixelAt, seen, zoomed } from "../drawing/viewport.js";

/** @typedef {import("./flat-graph.js").FlatGraph} FlatGraph */
/** @typedef {import("../drawing/viewport.js").Viewport} Viewport */

/**
 * @typedef {object} Picture how the groups look
 * @property {readonly { colour: string, shape: string }[]} looks colours of the style sheet (`--ramp-2`), or `#rrggbb`
 * @property {ArrayLike<number>} lookOf [groups] an index of `looks`
 * @property {ArrayLike<number> | null} placement [groups]
 * @property {ArrayLike<number> | null} [deviceOfNode] [nodes] their devices where groups are on several, in the order of the looks
 *
 * @typedef {object} Listeners called with -1 for none
 * @property {(node: number) => void} onChoose
 * @property {(node: number, x: number, y: number) => void} onHover
 */

/** The view has stood still, or the placement has been the same, for so long: edges are drawn. */
const STILL_MILLISECONDS = 160;
const ZOOM_STEP = 1.35;
const PAN_PIXELS = 60;
const REACH_PIXELS = 9;
const CLICK_PIXELS = 4;
const MOST_RATIO = 2;
const CLOSE_SCALE = 24;
/** Red stands out by itself, and many edges that cross devices end at one op. */
const CROSSING_EMPHASIS = 0.5;

export class FlatView {
  #host;
  #graph;
  #canvas;
  #nodes;
  #edges;
  #crossing;
  #minimap;
  /** @type {Viewport} */
  #view = Object.freeze({ zoom: 1, x: 0, y: 0 });
  #isFitted = true;
  /** @type {Picture} */
  #picture = { looks: [{ colour: "--node-unplaced", shape: "ellipse" }], lookOf: [], placement: null };
  /** @type {ArrayLike<number> | null} */
  #lit = null;
  #nodesOf;
  #chosenGroup = -1;
  #chosenNode = -1;
  /** @type {readonly import("./layer-labels.js").Layer[]} the largest first */
  #layers = [];
  /** Of their names: to ask for it at each frame would lay the page out each time. */
  #font = "sans-serif";
  #stillTimer = 0;
  #placedTimer = 0;
  /** How often nodes have been drawn, for tests. */
  drawn = 0;

  /**
   * @param {HTMLElement} host
   * @param {FlatGraph} graph
   * @param {number} groups
   * @param {Listeners} listeners
   */
  constructor(host, graph, groups, listeners) {
    this.#host = host;
    this.#graph = graph;
    this.#nodesOf = nodesByGroup(graph.group, groups);
    this.#nodes = new NodePicture(graph, this.#nodesOf);
    this.#canvas = new Canvas(host, (context, size) => this.#draw(context, size), MOST_RATIO);
    this.#edges = new EdgePicture(graph, () => this.#canvas.redrawSoon());
    this.#crossing = new EdgePicture(graph, () => this.#canvas.redrawSoon());
    const radii = Float32Array.from(graph.sizes, (size) => size / 2);
    this.#minimap = new Minimap(host, { x: graph.x, y: graph.y, radii, room: 1, strips: [], height: graph.height }, (x, y) => {
      this.#isFitted = false;
      this.#move(centred(this.#view, { x, y }, 0, this.#size));
    });
    this.#listen(listeners);
    onThemeChange(() => {
      this.#paint();
      this.#drawEdgesSoon();
    });
    new ResizeObserver(() => this.#resized()).observe(host);
    this.#paint();
    this.fit();
  }

  /** @param {Picture} picture colours by group, and the placement that they are of */
  show(picture) {
    const samePlacement = equal(picture.placement, this.#picture.placement) && picture.deviceOfNode === this.#picture.deviceOfNode;
    this.#picture = picture;
    this.#paint();
    if (!samePlacement) {
      this.#crossing.clear();
      window.clearTimeout(this.#placedTimer);
      this.#placedTimer = window.setTimeout(() => this.#drawCrossing(), STILL_MILLISECONDS);
    }
  }

  /**
   * Fade what a search has not found.
   *
   * @param {ArrayLike<number> | null} lit [groups] 1: found. null: no search
   */
  light(lit) {
    this.#lit = lit;
    this.#paint();
  }

  /** @param {readonly string[]} names [nodes] untrusted text */
  showNames(names) {
    this.#nodes.showNames((node) => names[node]);
    this.#font = getComputedStyle(this.#host).fontFamily;
    this.#layers = layersWithPlaces(names, this.#graph.x, this.#graph.y);
    this.#canvas.redrawSoon();
  }

  /** @returns {readonly import("./layer-labels.js").Layer[]} for tests */
  get layers() {
    return this.#layers;
  }

  /**
   * @param {number} group -1 for none
   * @param {boolean} reveal whether to bring it onto the canvas
   * @param {number} [node] one of it
   */
  choose(group, reveal, node = -1) {
    this.#chosenGroup = group;
    this.#chosenNode = node;
    const first = node >= 0 ? node : (this.#nodesOf[group]?.[0] ?? -1);
    if (reveal && first >= 0 && !this.#isSeen(node >= 0 ? [node] : this.#nodesOf[group])) {
      this.#isFitted = false;
      const place = { x: this.#graph.x[first], y: this.#graph.y[first] };
      this.#move(centred(this.#view, place, node >= 0 ? CLOSE_SCALE : 0, this.#size));
    }
    this.#canvas.redrawSoon();
  }

  fit() {
    this.#isFitted = true;
    this.#move(fitted(this.#graph, this.#size));
  }

  /** @param {boolean} closer */
  zoom(closer) {
    const { width, height } = this.#size;
    this.#zoomAt(closer ? ZOOM_STEP : 1 / ZOOM_STEP, { x: width / 2, y: height / 2 });
  }

  /**
   * The pixel of a node, for tests.
   *
   * @param {number} node
   */
  pixelOf(node) {
    return pixelAt(this.#view, this.#graph, node);
  }

  /** @returns {Viewport} for tests */
  get view() {
    return this.#view;
  }

  /**
   * The colour of a group, for tests.
   *
   * @param {number} group
   */
  colourOf(group) {
    const { looks, lookOf } = this.#picture;
    return looks[lookOf[group]].colour;
  }

  get #size() {
    return { width: Math.max(1, this.#host.clientWidth), height: Math.max(1, this.#host.clientHeight) };
  }

  #paint() {
    this.#nodes.paint(this.#picture, this.#lit);
    this.#minimap.show({ looks: this.#picture.looks, lookOf: this.#nodes.lookOf });
    this.#canvas.redrawSoon();
  }

  /** @param {Viewport} view */
  #move(view) {
    this.#view = view;
    this.#minimap.move(view, this.#host.clientWidth, this.#host.clientHeight);
    this.#edges.stop();
    this.#crossing.stop();
    this.#canvas.redrawSoon();
    this.#drawEdgesSoon();
  }

  /**
   * @param {number} factor
   * @param {{ x: number, y: number }} at
   */
  #zoomAt(factor, at) {
    this.#isFitted = false;
    this.#move(zoomed(this.#view, factor, at, this.#graph, this.#size));
  }

  /**
   * @param {number} right pixels
   * @param {number} down pixels
   * @param {Viewport} [from]
   */
  #pan(right, down, from = this.#view) {
    this.#isFitted = false;
    this.#move(panned(from, right, down, this.#graph, this.#size));
  }

  #resized() {
    if (this.#isFitted) {
      this.fit();
    } else {
      this.#move(this.#view);
    }
  }

  /** @param {ArrayLike<number>} nodes */
  #isSeen(nodes) {
    const { left, top, right, bottom } = seen(this.#view, this.#size, -8);
    const { x, y } = this.#graph;
    return Array.from(nodes).some((node) => x[node] >= left && x[node] <= right && y[node] >= top && y[node] <= bottom);
  }

  #drawEdgesSoon() {
    window.clearTimeout(this.#stillTimer);
    this.#stillTimer = window.setTimeout(() => {
      this.#edges.draw(this.#view, this.#size, this.#canvas.ratio, hexOf("--edge"), () => true);
      this.#drawCrossing();
    }, STILL_MILLISECONDS);
  }

  #drawCrossing() {
    const { placement, deviceOfNode } = this.#picture;
    const { source, target, group } = this.#graph;
    if (placement) {
      const devices = deviceOfNode ?? Array.from(group, (each) => placement[each]);
      const isCrossing = (/** @type {number} */ edge) => crosses(devices, { source: source[edge], target: target[edge] });
      this.#crossing.draw(this.#view, this.#size, this.#canvas.ratio, hexOf("--edge-crossing"), isCrossing, CROSSING_EMPHASIS);
    }
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {{ width: number, height: number, ratio: number }} size
   */
  #draw(context, { width, height, ratio }) {
    this.#edges.paint(context, this.#view, ratio);
    this.#crossing.paint(context, this.#view, ratio);
    this.#drawChosenEdges(context);
    this.#nodes.draw(context, { view: this.#view, size: { width, height }, ratio, chosen: this.#chosenGroup });
    if (detailOf(this.#view.zoom) !== "names") {
      const look = { text: hexOf("--text"), halo: hexOf("--surface"), font: this.#font };
      drawLayers(context, this.#layers, this.#view, { width, height }, look);
    }
    this.#drawRing(context);
    this.drawn += 1;
  }

  /** @param {CanvasRenderingContext2D} context */
  #drawChosenEdges(context) {
    if (this.#chosenNode < 0) {
      return;
    }
    const { source, target } = this.#graph;
    context.strokeStyle = hexOf("--accent");
    context.lineWidth = 1.5;
    context.beginPath();
    for (const edge of this.#graph.edgesOf(this.#chosenNode)) {
      const [from, to] = [this.pixelOf(source[edge]), this.pixelOf(target[edge])];
      context.moveTo(from.x, from.y);
      context.lineTo(to.x, to.y);
    }
    context.stroke();
  }

  /** @param {CanvasRenderingContext2D} context */
  #drawRing(context) {
    if (this.#chosenNode < 0) {
      return;
    }
    const { x, y } = this.pixelOf(this.#chosenNode);
    const radius = Math.max(9, this.#graph.sizes[this.#chosenNode] * this.#view.zoom * 0.8);
    for (const [line, width] of [["--surface", 5], ["--text", 2]]) {
      context.strokeStyle = hexOf(String(line));
      context.lineWidth = Number(width);
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      context.stroke();
    }
  }

  /**
   * @param {number} x pixels
   * @param {number} y pixels
   * @returns {number} the node there, -1 for none
   */
  #nodeAt(x, y) {
    const { zoom: scale, x: left, y: top } = this.#view;
    return this.#nodes.nodeAt((x - left) / scale, (y - top) / scale, Math.max(REACH_PIXELS / scale, 0.5));
  }

  /** @param {Listeners} listeners */
  #listen({ onChoose, onHover }) {
    const host = this.#host;
    listenToGrip(host, CLICK_PIXELS, {
      onPoint: (x, y) => onHover(this.#nodeAt(x, y), x, y),
      onLeave: () => onHover(-1, 0, 0),
      onPress: (x, y) => onChoose(this.#nodeAt(x, y)),
      onDrag: () => {
        const from = this.#view;
        return (right, down) => this.#pan(right, down, from);
      },
    });
    host.addEventListener("wheel", (event) => this.#onWheel(event), { passive: false });
    listenToKeys(host, {
      ...zoomKeys(this),
      ArrowLeft: () => this.#pan(PAN_PIXELS, 0),
      ArrowRight: () => this.#pan(-PAN_PIXELS, 0),
      ArrowUp: () => this.#pan(0, PAN_PIXELS),
      ArrowDown: () => this.#pan(0, -PAN_PIXELS),
      Escape: () => onChoose(-1),
    });
  }

  /**
   * The wheel scrolls the page; with Ctrl or ⌘ (which pinching also sends) it zooms.
   *
   * @param {WheelEvent} event
   */
  #onWheel(event) {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      this.#zoomAt(ZOOM_STEP ** (-Math.sign(event.deltaY) * Math.min(1, Math.abs(event.deltaY) / 100)), { x: event.offsetX, y: event.offsetY });
    }
  }
}

/**
 * @param {ArrayLike<number>} group [nodes]
 * @param {number} groups
 * @returns {Int32Array[]} [groups] the nodes of each
 */
function nodesByGroup(group, groups) {
  /** @type {number[][]} */
  const found = Array.from({ length: groups }, () => []);
  for (let node = 0; node < group.length; node += 1) {
    found[group[node]].push(node);
  }
  return found.map((nodes) => Int32Array.from(nodes));
}

/**
 * @param {ArrayLike<number> | null} one
 * @param {ArrayLike<number> | null} other
 */
function equal(one, other) {
  if (!one || !other || one === other) {
    return one === other;
  }
  return one.length === other.length && Array.prototype.every.call(one, (value, index) => value === other[index]);
}
