/** Blocks on a canvas: opened and closed in place, chosen, dragged, by pointer and by keys. */

import { Canvas } from "../drawing/canvas.js";
import { listenToGrip } from "../drawing/grip.js";
import { centred, fitted, panned, seen, zoomed } from "../drawing/viewport.js";
import { onThemeChange, prefersLessMotion } from "../ui/colours.js";
import { blockLayout, HEAD } from "./block-layout.js";
import { between, betweenViews, eased, folded, MOTION_MILLISECONDS, showing } from "./block-motion.js";
import { BlockPicture } from "./block-picture.js";
import { nextBlock } from "./next-block.js";

/** @typedef {import("./block-tree.js").BlockNode} BlockNode */
/** @typedef {import("./block-layout.js").Rectangle} Rectangle */
/** @typedef {import("./block-picture.js").BlockFace} BlockFace */
/** @typedef {import("../drawing/viewport.js").Viewport} Viewport */

/**
 * @typedef {object} Scene what there is to draw
 * @property {readonly { colour: string }[]} looks
 * @property {(node: BlockNode) => BlockFace} faceOf
 * @property {import("./block-edges.js").Bundles} bundles between leaves
 * @property {ArrayLike<number>} crossing [bundles] bytes between devices; −1: none
 * @property {readonly BlockNode[]} leaves
 *
 * @typedef {object} BlockListeners
 * @property {(node: BlockNode | null, adds: boolean) => void} onChoose null for none; `adds`: to what is chosen already
 * @property {(node: BlockNode | null, x: number, y: number) => void} onHover
 * @property {(node: BlockNode) => void} onToggle a person opens a closed block or closes an open one
 * @property {((node: BlockNode, event: PointerEvent) => void) | null} onDrag null: blocks cannot be moved
 */

const CLICK_PIXELS = 4;
const ZOOM_STEP = 1.35;
const PAN_PIXELS = 60;
const MARGIN_PIXELS = 18;
const MOST_RATIO = 2;
const DOUBLE_CLICK_MILLISECONDS = 350;
/** Pixels at the left of a block in which a press opens or closes it. */
const ARROW_PIXELS = 18;
/** After a pan or zoom, edges are drawn in full once the picture has stood still for so long. */
const STILL_MILLISECONDS = 160;
/** The zoom from which all crossing bytes are written; those of the chosen block always are. */
const BYTES_ZOOM = 0.5;
const GREATEST_FIT = 1.15;
/** A picture that shows all begins, and goes on after a block is opened, with all, unless names were too small to read. */
const LEAST_FIT = 0.5;
const GREATEST_ZOOM = 2;

export class BlocksView {
  #host;
  #canvas;
  #listeners;
  /** @type {readonly BlockNode[]} */
  #roots = [];
  /** @type {Map<number, BlockNode>} */
  #nodes = new Map();
  /** @type {import("./block-layout.js").BlockLayout} */
  #layout = { width: 1, height: 1, places: new Map() };
  /** Where blocks come from, while they move. @type {Map<number, Rectangle>} */
  #before = new Map();
  /** @type {{ start: number, from: Viewport, to: Viewport } | null} */
  #motion = null;
  /** @type {Scene | null} */
  #scene = null;
  /** @type {Viewport} */
  #view = Object.freeze({ zoom: 1, x: 0, y: 0 });
  #isFitted = true;
  /** @type {number | null} */
  #chosen = null;
  #movedAt = -Infinity;
  #stillTimer = 0;
  /** @type {PointerEvent | null} */
  #down = null;
  /** @type {PointerEvent | null} */
  #pointer = null;
  #pressed = { key: NaN, at: -Infinity };
  /** How often it has been drawn, for tests. */
  drawn = 0;

  /**
   * @param {HTMLElement} host
   * @param {BlockListeners} listeners
   */
  constructor(host, listeners) {
    this.#host = host;
    this.#listeners = listeners;
    this.#canvas = new Canvas(host, (context, size) => this.#draw(context, size), MOST_RATIO);
    this.#listen();
    onThemeChange(() => this.#canvas.redrawSoon());
    new ResizeObserver(() => this.#resized()).observe(host);
  }

  /**
   * Show other blocks, or the same ones with more of them open.
   *
   * @param {readonly BlockNode[]} roots
   * @param {Iterable<BlockNode>} nodes all that are seen, each before what is in it
   * @param {number | null} toggled the block that a person has just opened or closed
   */
  arrange(roots, nodes, toggled) {
    const old = this.#layout.places;
    const wasClosed = toggled !== null && !this.#nodes.get(toggled)?.children.length;
    this.#roots = roots;
    this.#nodes = new Map([...nodes].map((node) => [node.key, node]));
    this.#layout = blockLayout(roots);
    const place = toggled === null ? undefined : this.#layout.places.get(toggled);
    const from = toggled === null ? undefined : old.get(toggled);
    this.#before = place && from ? this.#starts(old, wasClosed ? toggled : null) : new Map();
    this.#isFitted = !place || !from || (this.#isFitted && this.#fittedView.zoom >= LEAST_FIT);
    const target = this.#isFitted || !place || !from ? this.#firstView : showing(this.#anchored(from, place), place, this.#size, MARGIN_PIXELS);
    if (this.#before.size > 0 && !prefersLessMotion()) {
      this.#motion = { start: performance.now(), from: this.#view, to: target };
    } else {
      this.#motion = null;
      this.#view = target;
    }
    this.#canvas.redrawSoon();
  }

  /**
   * @param {Rectangle} from
   * @param {Rectangle} place
   * @returns {Viewport} in which the place begins where it was
   */
  #anchored(from, place) {
    const { zoom, x, y } = this.#view;
    return Object.freeze({ zoom, x: x + (from.x - place.x) * zoom, y: y + (from.y - place.y) * zoom });
  }

  /** @param {Scene} scene */
  show(scene) {
    this.#scene = scene;
    this.#canvas.redrawSoon();
  }

  /**
   * @param {number | null} key
   * @param {boolean} reveal whether to bring it onto the canvas
   */
  choose(key, reveal) {
    this.#chosen = key;
    const place = key === null ? undefined : this.#layout.places.get(key);
    if (place && reveal) {
      this.#isFitted = false;
      this.#move(showing(this.#view, place, this.#size, MARGIN_PIXELS));
    }
    this.#canvas.redrawSoon();
  }

  fit() {
    this.#isFitted = true;
    this.#move(this.#fittedView);
  }

  /** @param {boolean} closer */
  zoom(closer) {
    const { width, height } = this.#size;
    this.#zoomAt(closer ? ZOOM_STEP : 1 / ZOOM_STEP, { x: width / 2, y: height / 2 });
  }

  /** @param {import("../ui/svg-elements.js").Surface} surface with the size of the canvas */
  drawOn(surface) {
    const context = /** @type {CanvasRenderingContext2D} */ (surface);
    const size = this.#size;
    context.save();
    context.beginPath();
    context.rect(0, 0, size.width, size.height);
    context.clip();
    if (this.#scene) {
      const placeOf = (/** @type {number} */ key) => /** @type {Rectangle} */ (this.#layout.places.get(key));
      this.#drawScene(context, this.#scene, placeOf, seen(this.#view, size, 8), false);
    }
    context.restore();
  }

  /** @returns {boolean} whether blocks are on their way, for tests */
  get isMoving() {
    return this.#motion !== null;
  }

  /**
   * The pixels of a block, for tests.
   *
   * @param {number} key
   */
  pixelsOf(key) {
    const { x, y, width, height } = /** @type {Rectangle} */ (this.#layout.places.get(key));
    const { zoom } = this.#view;
    return { x: this.#view.x + x * zoom, y: this.#view.y + y * zoom, width: width * zoom, height: height * zoom };
  }

  get #size() {
    return { width: Math.max(1, this.#host.clientWidth), height: Math.max(1, this.#host.clientHeight) };
  }

  get #fittedView() {
    const { width, height } = this.#layout;
    const view = fitted({ width, height }, this.#size);
    return view.zoom <= GREATEST_FIT ? view : centred({ ...view, zoom: 0 }, { x: width / 2, y: height / 2 }, GREATEST_FIT, this.#size);
  }

  /** All of it; of what is too large to be read then, the beginning of the data. */
  get #firstView() {
    const fitting = this.#fittedView;
    const first = this.#layout.places.get(this.#roots[0]?.key ?? NaN);
    if (fitting.zoom >= LEAST_FIT || !first) {
      return fitting;
    }
    const begin = centred({ ...fitting, zoom: 0 }, { x: first.x + first.width / 2, y: 0 }, LEAST_FIT, this.#size);
    const most = MARGIN_PIXELS;
    const least = this.#size.width - MARGIN_PIXELS - this.#layout.width * LEAST_FIT;
    return Object.freeze({ zoom: LEAST_FIT, x: Math.max(Math.min(most, least), Math.min(most, begin.x)), y: MARGIN_PIXELS });
  }

  /**
   * Where all that is seen comes from.
   *
   * @param {ReadonlyMap<number, Rectangle>} old
   * @param {number | null} opened
   */
  #starts(old, opened) {
    const starts = new Map();
    for (const [key, place] of this.#layout.places) {
      const parent = this.#nodes.get(key)?.parent ?? null;
      const start = old.get(key);
      if (start) {
        starts.set(key, start);
      } else if (parent && opened !== null) {
        const around = /** @type {Rectangle} */ (this.#layout.places.get(parent.key));
        starts.set(key, folded(place, around, starts.get(parent.key) ?? around));
      }
    }
    return starts;
  }

  /** @param {Viewport} view */
  #move(view) {
    this.#motion = null;
    this.#view = view;
    this.#movedAt = performance.now();
    window.clearTimeout(this.#stillTimer);
    this.#stillTimer = window.setTimeout(() => this.#canvas.redrawSoon(), STILL_MILLISECONDS + 10);
    this.#canvas.redrawSoon();
  }

  /**
   * @param {number} factor
   * @param {{ x: number, y: number }} at
   */
  #zoomAt(factor, at) {
    this.#isFitted = false;
    const closer = Math.min(factor, GREATEST_ZOOM / this.#view.zoom);
    this.#move(zoomed(this.#view, closer, at, this.#layout, this.#size));
  }

  /**
   * @param {number} right pixels
   * @param {number} down pixels
   * @param {Viewport} [from]
   */
  #pan(right, down, from = this.#view) {
    this.#isFitted = false;
    this.#move(panned(from, right, down, this.#layout, this.#size));
  }

  #resized() {
    if (this.#isFitted) {
      this.#motion = null;
      this.#view = this.#firstView;
    }
    this.#canvas.redrawSoon();
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {{ width: number, height: number }} size
   */
  #draw(context, size) {
    const way = this.#motion ? eased((performance.now() - this.#motion.start) / MOTION_MILLISECONDS) : 1;
    if (this.#motion) {
      this.#view = betweenViews(this.#motion.from, this.#motion.to, way);
    }
    const isMoving = this.#motion !== null || performance.now() - this.#movedAt < STILL_MILLISECONDS;
    const scene = this.#scene;
    if (scene) {
      const placeOf = (/** @type {number} */ key) => {
        const place = /** @type {Rectangle} */ (this.#layout.places.get(key));
        const before = way < 1 ? this.#before.get(key) : undefined;
        return before ? between(before, place, way) : place;
      };
      this.#drawScene(context, scene, placeOf, seen(this.#view, size, 8), isMoving);
    }
    this.drawn += 1;
    if (this.#motion) {
      if (way >= 1) {
        this.#motion = null;
      }
      this.#canvas.redrawSoon();
    }
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Scene} scene
   * @param {(key: number) => Rectangle} placeOf
   * @param {{ left: number, top: number, right: number, bottom: number }} part that is seen
   * @param {boolean} isMoving
   */
  #drawScene(context, scene, placeOf, part, isMoving) {
    const picture = new BlockPicture(context, this.#view, scene.looks);
    const isSeen = (/** @type {Rectangle} */ { x, y, width, height }) => x <= part.right && x + width >= part.left && y <= part.bottom && y + height >= part.top;
    const places = new Map();
    for (const node of this.#nodes.values()) {
      const place = placeOf(node.key);
      places.set(node.key, place);
      if (node.children.length > 0 && isSeen(place)) {
        picture.open(node, place, scene.faceOf(node));
      }
    }
    const faces = this.#bundleFaces(scene, places, part);
    const hasChosen = faces.some(({ isChosen }) => isChosen);
    picture.edges(faces, hasChosen, isMoving);
    for (const node of scene.leaves) {
      const place = places.get(node.key);
      if (place && isSeen(place)) {
        picture.closed(node, place, scene.faceOf(node));
      }
    }
    if (!isMoving) {
      const written = faces.filter(({ isChosen, bytes, crossing }) => bytes > 0 && (hasChosen ? isChosen : crossing > 0 && this.#view.zoom >= BYTES_ZOOM));
      const closed = scene.leaves.map(({ key }) => /** @type {Rectangle} */ (places.get(key))).filter(isSeen);
      picture.bytes(written.sort((one, other) => other.bytes - one.bytes).slice(0, 40), closed);
    }
  }

  /**
   * @param {Scene} scene
   * @param {ReadonlyMap<number, Rectangle>} places
   * @param {{ left: number, top: number, right: number, bottom: number }} part that is seen
   */
  #bundleFaces({ bundles, crossing, leaves }, places, part) {
    const { source, target, bytes } = bundles;
    const most = bytes.reduce((highest, each) => Math.max(highest, each), 0) || 1;
    /** @type {import("./block-picture.js").BundleFace[]} */
    const faces = [];
    for (let bundle = 0; bundle < source.length; bundle += 1) {
      const [one, other] = [leaves[source[bundle]], leaves[target[bundle]]];
      const [from, to] = [places.get(one.key), places.get(other.key)];
      const isChosen = this.#chosen !== null && (isInside(one, this.#chosen) || isInside(other, this.#chosen));
      const isDrawn = bytes[bundle] > 0 || isChosen; // control edges carry nothing
      if (from && to && isDrawn && crossesPart(from, to, part)) {
        faces.push({ from, to, bytes: bytes[bundle], crossing: crossing[bundle] ?? -1, weight: bytes[bundle] / most, isChosen });
      }
    }
    return faces;
  }

  /**
   * @param {number} x pixels
   * @param {number} y pixels
   * @returns {BlockNode | null} the innermost there
   */
  #nodeAt(x, y) {
    const { zoom, x: left, y: top } = this.#view;
    const at = { x: (x - left) / zoom, y: (y - top) / zoom };
    let [nodes, found] = [this.#roots, /** @type {BlockNode | null} */ (null)];
    for (;;) {
      const inside = nodes.find(({ key }) => contains(/** @type {Rectangle} */ (this.#layout.places.get(key)), at));
      if (!inside) {
        return found;
      }
      [nodes, found] = [inside.children, inside];
    }
  }

  /**
   * @param {BlockNode} node
   * @param {number} x pixels
   * @param {number} y pixels
   */
  #isOnArrow(node, x, y) {
    const { x: left, y: top, height } = this.pixelsOf(node.key);
    const head = node.children.length > 0 ? HEAD * this.#view.zoom : height;
    return node.row.block !== null && x - left <= ARROW_PIXELS && y - top <= Math.max(head, ARROW_PIXELS);
  }

  #listen() {
    const host = this.#host;
    const { onHover, onDrag } = this.#listeners;
    host.addEventListener("pointerdown", (event) => (this.#down = event));
    host.addEventListener("pointermove", (event) => (this.#pointer = event), { capture: true });
    listenToGrip(host, CLICK_PIXELS, {
      onPoint: (x, y) => {
        const node = this.#nodeAt(x, y);
        host.classList.toggle("is-over", node !== null && node.children.length === 0);
        onHover(node, x, y);
      },
      onLeave: () => onHover(null, 0, 0),
      onPress: (x, y) => this.#press(x, y),
      onDrag: () => {
        const from = this.#view;
        const node = this.#down && this.#nodeAt(this.#down.offsetX, this.#down.offsetY);
        const isMoved = onDrag !== null && node !== null && node.children.length === 0;
        let hasBegun = false;
        return (right, down) => {
          if (!isMoved) {
            this.#pan(right, down, from);
          } else if (!hasBegun && this.#pointer) {
            hasBegun = true;
            onDrag(node, this.#pointer);
          }
        };
      },
    });
    host.addEventListener("wheel", (event) => this.#onWheel(event), { passive: false });
    host.addEventListener("keydown", (event) => this.#onKey(event));
  }

  /**
   * @param {number} x pixels
   * @param {number} y pixels
   */
  #press(x, y) {
    const { onChoose, onToggle } = this.#listeners;
    const node = this.#nodeAt(x, y);
    const key = node?.key ?? NaN;
    const isSecond = key === this.#pressed.key && performance.now() - this.#pressed.at < DOUBLE_CLICK_MILLISECONDS;
    this.#pressed = { key: isSecond ? NaN : key, at: performance.now() };
    if (node && node.row.block !== null && (isSecond || this.#isOnArrow(node, x, y))) {
      onToggle(node);
    } else if (!isSecond) {
      onChoose(node, Boolean(this.#down?.shiftKey || this.#down?.ctrlKey || this.#down?.metaKey));
    }
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.#act(event)) {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * @param {KeyboardEvent} event
   * @returns {boolean} whether the key is one of these
   */
  #act({ key, shiftKey }) {
    const { onChoose, onToggle } = this.#listeners;
    const node = this.#chosen === null ? null : (this.#nodes.get(this.#chosen) ?? null);
    if (key.startsWith("Arrow")) {
      if (shiftKey) {
        const pans = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
        const [right, down] = pans[/** @type {keyof typeof pans} */ (key)];
        this.#pan(right * PAN_PIXELS, down * PAN_PIXELS);
      } else {
        this.#step(key, node);
      }
    } else if (key === "Enter" && node?.row.block != null) {
      onToggle(node);
    } else if (key === "Escape" && node) {
      const around = node.children.length > 0 ? node : node.parent;
      if (around) {
        onToggle(around);
      } else {
        onChoose(null, false);
      }
    } else if (key === "+" || key === "=") {
      this.zoom(true);
    } else if (key === "-") {
      this.zoom(false);
    } else if (key === "0") {
      this.fit();
    } else {
      return false;
    }
    return true;
  }

  /**
   * @param {string} arrow
   * @param {BlockNode | null} node
   */
  #step(arrow, node) {
    const { places } = this.#layout;
    const target = (/** @type {BlockNode} */ { key, children }) => {
      const place = /** @type {Rectangle} */ (places.get(key));
      return children.length > 0 ? { ...place, height: HEAD } : place;
    };
    const all = [...this.#nodes.values()];
    const key = node ? nextBlock(arrow, target(node), all.filter((each) => each !== node).map((each) => [each.key, target(each)])) : (all[0]?.key ?? null);
    const next = key === null ? null : (this.#nodes.get(key) ?? null);
    if (next) {
      this.#listeners.onChoose(next, false);
      this.choose(next.key, true);
    }
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
 * @param {BlockNode} node
 * @param {number} key
 * @returns {boolean} whether it is the block of that key, or in it
 */
function isInside(node, key) {
  for (let each = /** @type {BlockNode | null} */ (node); each; each = each.parent) {
    if (each.key === key) {
      return true;
    }
  }
  return false;
}

/**
 * @param {Rectangle} place
 * @param {{ x: number, y: number }} at
 */
function contains({ x, y, width, height }, at) {
  return at.x >= x && at.x <= x + width && at.y >= y && at.y <= y + height;
}

/**
 * @param {Rectangle} from
 * @param {Rectangle} to
 * @param {{ left: number, top: number, right: number, bottom: number }} part
 * @returns {boolean} whether an edge between them may be seen
 */
function crossesPart(from, to, { left, top, right, bottom }) {
  return (
    Math.min(from.x, to.x) <= right &&
    Math.max(from.x + from.width, to.x + to.width) >= left &&
    Math.min(from.y, to.y) <= bottom &&
    Math.max(from.y + from.height, to.y + to.height) >= top
  );
}
