/**
 * Pointer, wheel and keys on a chart of episodes.
 *
 * A click shows an episode. A drag pans while the chart is zoomed in, and moves through the episodes while it shows all of
 * them; Shift + drag zooms in on the part that it passes. Ctrl + wheel zooms, a sideways wheel pans, a double click and 0
 * show all.
 */

import { svg } from "../ui/dom.js";
import { rounded } from "./chart-frame.js";

/** @typedef {import("./chart-frame.js").Plot} Plot x from the episode's number */

/**
 * @typedef {object} Grip a drag
 * @property {number} x pixel at which it began
 * @property {readonly [number, number]} domain shown when it began
 * @property {boolean} moved
 * @property {"pan" | "seek" | "mark"} kind
 */

export const ZOOM_STEP = 1.5;
const PAN_SHARE = 0.2;
const REACH_PIXELS = 4;
/** beside the plot, where its first and last episode can still be hit */
const EDGE_PIXELS = 8;

export class EpisodeGestures {
  #host;
  #axis;
  #plotOf;
  #onSeek;
  /** @type {Grip | null} */
  #grip = null;
  /** for the chart to draw: the part that a drag marks */
  mark = svg("g");

  /**
   * @param {HTMLElement} host
   * @param {import("./episode-axis.js").EpisodeAxis} axis
   * @param {() => Plot | null} plotOf the plot as it is drawn; null while nothing is
   * @param {(number: number) => void} onSeek called with the number under the pointer, which need not be an episode's
   */
  constructor(host, axis, plotOf, onSeek) {
    this.#host = host;
    this.#axis = axis;
    this.#plotOf = plotOf;
    this.#onSeek = onSeek;
    host.addEventListener("pointerdown", (event) => this.#onDown(event));
    host.addEventListener("pointermove", (event) => this.#onMove(event));
    host.addEventListener("pointerup", (event) => this.#onUp(event));
    host.addEventListener("pointercancel", () => this.#release());
    host.addEventListener("pointerleave", () => axis.point(null));
    host.addEventListener("dblclick", () => axis.fit());
    host.addEventListener("wheel", (event) => this.#onWheel(event), { passive: false });
  }

  /**
   * @param {KeyboardEvent} event
   * @param {number} [around] number that stays in its place
   * @returns {boolean} whether the key changed what is shown
   */
  onKey(event, around) {
    /** @type {Record<string, () => void>} */
    const acts = {
      "+": () => this.#axis.zoom(ZOOM_STEP, around),
      "=": () => this.#axis.zoom(ZOOM_STEP, around),
      "-": () => this.#axis.zoom(1 / ZOOM_STEP, around),
      0: () => this.#axis.fit(),
      "<": () => this.#axis.pan(-PAN_SHARE),
      ">": () => this.#axis.pan(PAN_SHARE),
    };
    if (!Object.hasOwn(acts, event.key)) {
      return false;
    }
    acts[event.key]();
    return true;
  }

  /** @param {PointerEvent} event */
  #onDown(event) {
    const number = this.#numberAt(event);
    if (event.button !== 0 || number === null) {
      return;
    }
    const kind = event.shiftKey ? "mark" : this.#axis.showsAll ? "seek" : "pan";
    this.#grip = { x: this.#pixel(event), domain: this.#axis.domain, moved: false, kind };
    this.#host.setPointerCapture(event.pointerId);
    if (kind === "seek") {
      this.#onSeek(number);
    }
  }

  /** @param {PointerEvent} event */
  #onMove(event) {
    const [grip, plot] = [this.#grip, this.#plotOf()];
    const x = this.#pixel(event);
    if (!grip || !plot) {
      this.#axis.point(this.#numberAt(event));
      return;
    }
    grip.moved ||= Math.abs(x - grip.x) > REACH_PIXELS;
    if (grip.kind === "seek") {
      const number = plot.x.toValue(clamped(plot, x));
      this.#axis.point(number);
      this.#onSeek(number);
    } else if (grip.moved && grip.kind === "pan") {
      this.#axis.point(null);
      const by = ((grip.x - x) / (plot.right - plot.left)) * (grip.domain[1] - grip.domain[0]);
      this.#axis.show([grip.domain[0] + by, grip.domain[1] + by]);
    } else if (grip.moved) {
      this.#drawMark(plot, ...ordered(clamped(plot, grip.x), clamped(plot, x)));
    }
  }

  /** @param {PointerEvent} event */
  #onUp(event) {
    const [grip, plot] = [this.#grip, this.#plotOf()];
    this.#release();
    if (!grip || !plot) {
      return;
    }
    const x = this.#pixel(event);
    if (!grip.moved && grip.kind !== "seek") {
      this.#onSeek(plot.x.toValue(clamped(plot, x)));
    } else if (grip.moved && grip.kind === "mark") {
      const [from, to] = ordered(clamped(plot, grip.x), clamped(plot, x));
      this.#axis.show([plot.x.toValue(from), plot.x.toValue(to)]);
    }
  }

  #release() {
    this.#grip = null;
    this.mark.replaceChildren();
  }

  /** @param {WheelEvent} event */
  #onWheel(event) {
    const plot = this.#plotOf();
    if (!plot) {
      return;
    }
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      this.#axis.zoom(event.deltaY < 0 ? ZOOM_STEP : 1 / ZOOM_STEP, plot.x.toValue(clamped(plot, this.#pixel(event))));
    } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY) && !this.#axis.showsAll) {
      event.preventDefault();
      this.#axis.pan(event.deltaX / (plot.right - plot.left));
    }
  }

  /**
   * @param {Plot} plot
   * @param {number} from pixel
   * @param {number} to pixel
   */
  #drawMark({ top, bottom }, from, to) {
    const size = { x: rounded(from), y: top, width: rounded(to - from), height: bottom - top };
    this.mark.replaceChildren(svg("rect", { class: "chart-marked", ...size }));
  }

  /** @param {MouseEvent} event */
  #pixel(event) {
    return event.clientX - this.#host.getBoundingClientRect().left;
  }

  /**
   * @param {PointerEvent} event
   * @returns {number | null} null beside the plot
   */
  #numberAt(event) {
    const [plot, x] = [this.#plotOf(), this.#pixel(event)];
    return !plot || x < plot.left - EDGE_PIXELS || x > plot.right + EDGE_PIXELS ? null : plot.x.toValue(clamped(plot, x));
  }
}

/**
 * @param {Plot} plot
 * @param {number} x pixel
 * @returns {number} the nearest one in the plot
 */
function clamped({ left, right }, x) {
  return Math.max(left, Math.min(right, x));
}

/**
 * @param {number} one
 * @param {number} other
 * @returns {[number, number]}
 */
function ordered(one, other) {
  return [Math.min(one, other), Math.max(one, other)];
}
