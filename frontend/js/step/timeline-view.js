/** The timeline of a step on a canvas, with the gestures and keys that pan, zoom and choose in it. */

import { Canvas } from "../drawing/canvas.js";
import { listenToGrip } from "../drawing/grip.js";
import { listenToKeys, zoomKeys } from "../drawing/keys.js";
import { onThemeChange } from "../ui/colours.js";
import { NONE } from "./step.js";
import { REACH_PIXELS, TimelinePicture } from "./timeline-picture.js";

/** @typedef {import("./step.js").Step} Step */
/** @typedef {import("./timeline-picture.js").Target} Target */

const ZOOM_STEP = 1.5;
const PAN_SHARE = 0.2;

export class TimelineView {
  #host;
  #axis;
  #picture;
  #canvas;

  /**
   * @param {HTMLElement} host
   * @param {import("./time-axis.js").TimeAxis} axis
   * @param {readonly import("../graph/devices.js").DeviceLook[]} looks
   * @param {{ onChoose: (activity: number) => void, onHover: (target: Target | null) => void }} listeners
   */
  constructor(host, axis, looks, listeners) {
    this.#host = host;
    this.#axis = axis;
    this.#picture = new TimelinePicture(host, axis, looks);
    this.#canvas = new Canvas(host, (context) => this.#picture.drawOn(context));
    onThemeChange(() => {
      this.#picture.recolour();
      this.#canvas.redrawSoon();
    });
    axis.onChange(() => this.#canvas.redrawSoon());
    this.#listen(listeners);
  }

  /**
   * @param {Step} step
   * @param {(op: number) => string} nameOf op → name of its group
   */
  show(step, nameOf) {
    this.#host.style.height = `${this.#picture.show(step, nameOf)}px`;
    this.#canvas.redrawSoon();
  }

  /**
   * @param {number} activity the chosen one, or `NONE`
   * @param {(activity: number) => boolean} isChosen whether a bar belongs to what is chosen
   */
  choose(activity, isChosen) {
    this.#picture.choose(activity, isChosen);
    this.#canvas.redrawSoon();
  }

  /**
   * The pixel of an activity's middle, for tests.
   *
   * @param {number} activity
   */
  pixelOf(activity) {
    return this.#picture.pixelOf(activity);
  }

  /** @param {import("../ui/svg-elements.js").Surface} surface with the size of the host */
  drawOn(surface) {
    this.#picture.drawOn(surface);
  }

  /** @param {{ onChoose: (activity: number) => void, onHover: (target: Target | null) => void }} listeners */
  #listen({ onChoose, onHover }) {
    listenToGrip(this.#host, REACH_PIXELS, {
      onPoint: (x, y) => onHover(this.#picture.targetAt(x, y)),
      onLeave: () => onHover(null),
      onPress: (x, y) => onChoose(this.#picture.targetAt(x, y)?.activity ?? NONE),
      onDrag: () => {
        const [low, high] = this.#axis.domain;
        return (right) => {
          const by = (-right / this.#picture.width) * (high - low);
          this.#axis.show([low + by, high + by]);
        };
      },
    });
    this.#host.addEventListener("dblclick", () => this.#axis.fit());
    this.#host.addEventListener("wheel", (event) => this.#onWheel(event), { passive: false });
    listenToKeys(this.#host, {
      ...zoomKeys({ zoom: (closer) => this.#axis.zoom(closer ? ZOOM_STEP : 1 / ZOOM_STEP), fit: () => this.#axis.fit() }),
      ArrowLeft: () => this.#axis.pan(-PAN_SHARE),
      ArrowRight: () => this.#axis.pan(PAN_SHARE),
      "[": () => onChoose(this.#picture.neighbour(-1)),
      "]": () => onChoose(this.#picture.neighbour(1)),
      Escape: () => onChoose(NONE),
    }, { keeps: true });
  }

  /** @param {WheelEvent} event */
  #onWheel(event) {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      this.#axis.zoom(event.deltaY < 0 ? ZOOM_STEP : 1 / ZOOM_STEP, this.#picture.time(event.offsetX));
    } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      this.#axis.pan(event.deltaX / this.#picture.width);
    }
  }
}
