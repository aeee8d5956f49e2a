/** What a pointer does in a graph that Cytoscape draws: on its nodes, and with the page around it. */

import { NodeDrags } from "./node-drags.js";

/** @typedef {import("../../vendor/cytoscape.esm.min.mjs").default.Core} Core */

/**
 * @typedef {object} NodeListeners
 * @property {(node: number) => void} onChoose -1 for none
 * @property {(nodes: number[], isBox: boolean) => void} [onSelect] after a click with Shift or Ctrl, or a rectangle
 * @property {(node: number, x: number, y: number) => void} onHover -1 for none
 * @property {(node: number) => void} [onOpen]
 * @property {(node: number, event: PointerEvent) => void} [onDrag] with it, a drag that begins on a node does not pan
 */

/**
 * @param {Core} core
 * @param {NodeListeners} listeners
 */
export function listenToNodes(core, { onChoose, onSelect, onHover, onOpen }) {
  core.on("tap", (event) => {
    const { shiftKey, ctrlKey, metaKey } = event.originalEvent;
    if (onSelect && event.target !== core && (shiftKey || ctrlKey || metaKey)) {
      onSelect([indexOf(event.target)], false);
    } else {
      onChoose(event.target === core ? -1 : indexOf(event.target));
    }
  });
  /** @type {number[]} */
  let boxed = [];
  core.on("box", "node", (event) => {
    if (boxed.push(indexOf(event.target)) === 1) {
      queueMicrotask(() => {
        onSelect?.(boxed, true);
        boxed = [];
      });
    }
  });
  core.on("dbltap", "node", (event) => onOpen?.(indexOf(event.target)));
  core.on("mouseover", "node", (event) => {
    const { x, y } = event.target.renderedPosition();
    onHover(indexOf(event.target), x, y);
  });
  core.on("mouseout", "node", () => onHover(-1, 0, 0));
}

/**
 * @param {HTMLElement} host
 * @param {Core} core
 * @param {NodeListeners} listeners
 */
export function listenToDrags(host, core, { onDrag }) {
  if (onDrag) {
    const hold = (/** @type {boolean} */ isHeld) => {
      core.userPanningEnabled(!isHeld);
      core.boxSelectionEnabled(!isHeld);
    };
    const drags = new NodeDrags(host, hold, onDrag);
    core.on("tapstart", "node", (event) => drags.press(indexOf(event.target), event.originalEvent));
  }
}

/**
 * Let a graph stay where the pointer meets it, and take the keys. Cytoscape notices scrolls and resizes alone: of what
 * has grown above the picture it is told here, or it would take a click for one on another place.
 *
 * @param {HTMLElement} host
 * @param {Core} core
 */
export function followOnPage(host, core) {
  let known = "";
  const look = () => {
    const { left, top } = host.getBoundingClientRect();
    const place = `${left},${top}`;
    if (place !== known) {
      known = place;
      core.resize();
    }
  };
  for (const type of ["pointermove", "pointerdown"]) {
    host.addEventListener(type, look, { capture: true });
  }
  // Cytoscape keeps the browser from giving it the keys
  host.addEventListener("pointerdown", () => host.focus({ preventScroll: true }), { capture: true });
}

/**
 * The wheel scrolls the page; with Ctrl or ⌘ (which pinching also sends) it zooms. Call this before Cytoscape adds
 * its listeners.
 *
 * @param {HTMLElement} host
 */
export function leaveWheelToPage(host) {
  const keep = (/** @type {WheelEvent} */ event) => {
    if (!event.ctrlKey && !event.metaKey) {
      event.stopImmediatePropagation();
    }
  };
  host.addEventListener("wheel", keep, { capture: true, passive: true });
}

/**
 * Let both show the same part of a graph, at first what the first one shows.
 *
 * @param {Core} first
 * @param {Core} second
 */
export function link(first, second) {
  const follow = (/** @type {Core} */ from, /** @type {Core} */ to) => {
    const [zoom, pan, there] = [from.zoom(), { ...from.pan() }, to.pan()];
    if (to.zoom() !== zoom || there.x !== pan.x || there.y !== pan.y) {
      to.viewport({ zoom, pan });
    }
  };
  first.on("viewport", () => follow(first, second));
  second.on("viewport", () => follow(second, first));
  follow(first, second);
}

/** @param {import("../../vendor/cytoscape.esm.min.mjs").default.NodeSingular} node */
function indexOf(node) {
  return node.data("index");
}
