/**
 * The grouped graph on a canvas. The only module that touches Cytoscape.
 *
 * Positions come from the server and never change. A new placement updates only the groups whose device differs, in one
 * batch.
 */

import { colour, onThemeChange, prefersLessMotion } from "../ui/colours.js";
import { shortName } from "../ui/format.js";
import { geometry } from "./graph-geometry.js";
import { EDGES_WITH_ARROWS, graphStyle } from "./graph-style.js";
import { differences } from "./placement.js";

/** @typedef {import("../ui/contracts.js").GroupGraph} GroupGraph */
/** @typedef {import("./devices.js").DeviceLook} DeviceLook */

/** With more groups, a canvas is too slow to pan: the page offers the table first. */
export const MOST_GROUPS_DRAWN = 3000;

const PADDING = 24;
/** Pixels from a group to its neighbour: fewer are unreadable, more are wasted. */
const LEAST_ROOM_PIXELS = 6;
const MOST_ROOM_PIXELS = 90;
const ZOOM_STEP = 1.35;
const PAN_PIXELS = 60;

export class GraphView {
  #graph;
  #looks;
  #core;
  #room;
  /** @type {ArrayLike<number> | null} */
  #placement = null;
  #chosen = -1;

  /**
   * @param {HTMLElement} host
   * @param {GroupGraph} graph
   * @param {DeviceLook[]} looks of the placement's devices
   * @param {{ onChoose: (group: number) => void, onHover: (group: number, x: number, y: number) => void }} listeners
   *   called with -1 for none
   * @returns {Promise<GraphView>}
   */
  static async create(host, graph, looks, listeners) {
    const { default: cytoscape } = await import("../../vendor/cytoscape.esm.min.mjs");
    leaveWheelToPage(host);
    const drawn = geometry(graph, host.clientWidth / Math.max(1, host.clientHeight));
    const core = cytoscape({
      container: host,
      elements: elementsOf(graph, drawn),
      style: graphStyle({ edges: graph.edges.length, room: drawn.room }),
      layout: { name: "preset", fit: false },
      minZoom: 0.02,
      maxZoom: 6,
      autoungrabify: true,
      boxSelectionEnabled: false,
      selectionType: "single",
      hideEdgesOnViewport: graph.edges.length > EDGES_WITH_ARROWS,
      textureOnViewport: graph.groups.length > 1000,
      pixelRatio: "auto",
    });
    return new GraphView({ host, core, graph, looks, room: drawn.room }, listeners);
  }

  /**
   * @param {object} made
   * @param {HTMLElement} made.host
   * @param {import("../../vendor/cytoscape.esm.min.mjs").default.Core} made.core
   * @param {GroupGraph} made.graph
   * @param {DeviceLook[]} made.looks
   * @param {number} made.room from a group to its neighbour
   * @param {{ onChoose: (group: number) => void, onHover: (group: number, x: number, y: number) => void }} listeners
   */
  constructor({ host, core, graph, looks, room }, listeners) {
    this.#core = core;
    this.#graph = graph;
    this.#looks = looks;
    this.#room = room;
    this.#listen(listeners);
    this.#fitWhenResized(host);
    host.addEventListener("keydown", (event) => this.#onKey(event));
    onThemeChange(() => this.#restyle());
    this.#recolour(graph.groups.map((_, group) => group));
    this.#showFirst();
  }

  /**
   * Colour the groups by `placement`; null: no device yet.
   *
   * @param {ArrayLike<number> | null} placement [groups]
   * @returns {number} how many groups changed
   */
  show(placement) {
    const changed = differences(this.#placement, placement, this.#graph.groups.length);
    this.#placement = placement;
    this.#recolour(changed);
    return changed.length;
  }

  /**
   * @param {number} group -1 for none
   * @param {boolean} reveal whether to scroll to it
   */
  choose(group, reveal) {
    this.#chosen = group;
    this.#core.batch(() => {
      this.#core.elements(".chosen, .near").removeClass("chosen near");
      if (group >= 0) {
        const node = this.#node(group);
        node.addClass("chosen");
        node.connectedEdges().addClass("near");
      }
    });
    if (group >= 0 && reveal) {
      this.#reveal(group);
    }
  }

  fit() {
    this.#core.fit(undefined, PADDING);
    const most = MOST_ROOM_PIXELS / this.#room;
    if (this.#core.zoom() > most) {
      this.#core.zoom(most);
      this.#core.center();
    }
  }

  /** Show the whole graph, or its top if the whole would be too small to read. */
  #showFirst() {
    this.fit();
    const least = LEAST_ROOM_PIXELS / this.#room;
    if (this.#core.zoom() < least && this.#graph.groups.length > 1) {
      this.#core.zoom(least);
      this.#core.center();
      const { y1 } = this.#core.elements().renderedBoundingBox();
      this.#core.panBy({ x: 0, y: PADDING - y1 });
    }
  }

  /** @param {boolean} closer */
  zoom(closer) {
    const factor = closer ? ZOOM_STEP : 1 / ZOOM_STEP;
    const renderedPosition = { x: this.#core.width() / 2, y: this.#core.height() / 2 };
    this.#core.zoom({ level: this.#core.zoom() * factor, renderedPosition });
  }

  /**
   * The colour of a drawn group, for tests and debugging.
   *
   * @param {number} group
   * @returns {string}
   */
  colourOf(group) {
    return this.#node(group).data("colour");
  }

  /** @param {number} group */
  #node(group) {
    return this.#core.getElementById(nodeId(group));
  }

  /** @param {number[]} groups */
  #recolour(groups) {
    const unplaced = { colour: colour("--node-unplaced"), shape: "ellipse" };
    this.#core.batch(() => {
      for (const group of groups) {
        const look = (this.#placement && this.#looks[this.#placement[group]]) || unplaced;
        this.#node(group).data({ colour: look.colour, shape: look.shape });
      }
      if (groups.length > 0) {
        this.#markCrossing(groups);
      }
    });
  }

  /** @param {number[]} groups whose device changed */
  #markCrossing(groups) {
    for (const group of groups) {
      this.#node(group)
        .connectedEdges()
        .forEach((edge) => {
          const { from, to } = edge.data();
          edge.toggleClass("crossing", this.#placement !== null && this.#placement[from] !== this.#placement[to]);
        });
    }
  }

  /** @param {number} group */
  #reveal(group) {
    const node = this.#node(group);
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

  /** @param {{ onChoose: (group: number) => void, onHover: (group: number, x: number, y: number) => void }} listeners */
  #listen({ onChoose, onHover }) {
    this.#core.on("tap", (event) => {
      const isNode = event.target !== this.#core && event.target.isNode();
      onChoose(isNode ? event.target.data("group") : -1);
    });
    this.#core.on("mouseover", "node", (event) => {
      event.target.addClass("hover");
      const { x, y } = event.target.renderedPosition();
      onHover(event.target.data("group"), x, y);
    });
    this.#core.on("mouseout", "node", (event) => {
      event.target.removeClass("hover");
      onHover(-1, 0, 0);
    });
    this.#core.on("viewport", () => onHover(-1, 0, 0));
  }

  /** @param {HTMLElement} host */
  #fitWhenResized(host) {
    let width = host.clientWidth;
    let height = host.clientHeight;
    new ResizeObserver(() => {
      if (host.clientWidth !== width || host.clientHeight !== height) {
        ({ clientWidth: width, clientHeight: height } = host);
        this.#core.resize();
        this.fit();
      }
    }).observe(host);
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    /** @type {Map<string, () => void>} */
    const acts = new Map([
      ["+", () => this.zoom(true)],
      ["=", () => this.zoom(true)],
      ["-", () => this.zoom(false)],
      ["0", () => this.fit()],
      ["ArrowLeft", () => this.#core.panBy({ x: PAN_PIXELS, y: 0 })],
      ["ArrowRight", () => this.#core.panBy({ x: -PAN_PIXELS, y: 0 })],
      ["ArrowUp", () => this.#core.panBy({ x: 0, y: PAN_PIXELS })],
      ["ArrowDown", () => this.#core.panBy({ x: 0, y: -PAN_PIXELS })],
    ]);
    const act = acts.get(event.key);
    if (act && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      act();
    }
  }

  #restyle() {
    this.#core.style(graphStyle({ edges: this.#graph.edges.length, room: this.#room }));
    this.#recolour(this.#graph.groups.map((_, group) => group));
    this.choose(this.#chosen, false);
  }
}

/**
 * The wheel scrolls the page; with Ctrl or ⌘ (which pinching also sends) it zooms. Call this before Cytoscape adds
 * its listeners.
 *
 * @param {HTMLElement} host
 */
function leaveWheelToPage(host) {
  const keep = (/** @type {WheelEvent} */ event) => {
    if (!event.ctrlKey && !event.metaKey) {
      event.stopImmediatePropagation();
    }
  };
  host.addEventListener("wheel", keep, { capture: true, passive: true });
}

/**
 * @param {GroupGraph} graph
 * @param {ReturnType<typeof geometry>} drawn
 * @returns {import("../../vendor/cytoscape.esm.min.mjs").default.ElementDefinition[]}
 */
function elementsOf(graph, { stretch, sizes, edges: looks }) {
  const nodes = graph.groups.map((group, index) => ({
    data: {
      id: nodeId(index),
      group: index,
      label: shortName(group.name),
      size: sizes[index],
      colour: "#888",
      shape: "ellipse",
    },
    position: { x: group.x * stretch, y: group.y },
  }));
  const edges = graph.edges.map((edge, index) => ({
    data: {
      id: `edge-${index}`,
      source: nodeId(edge.source),
      target: nodeId(edge.target),
      from: edge.source,
      to: edge.target,
      ...looks[index],
    },
    classes: looks[index].bend === 0 ? "" : "bent",
  }));
  return [...nodes, ...edges];
}

/** @param {number} group */
function nodeId(group) {
  return `group-${group}`;
}
