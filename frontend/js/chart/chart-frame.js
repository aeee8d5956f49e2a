/** The frame of all charts: when they are drawn, the plot's area, its axes and the labels at its edge. */

import { element, setAttributes, svg } from "../ui/dom.js";
import { formatCount, timeUnit, withDecimals } from "../ui/format.js";
import { linearTicks, logTicks } from "./scale.js";

/**
 * @typedef {object} Area in pixels
 * @property {number} left
 * @property {number} right
 * @property {number} top
 * @property {number} bottom
 *
 * @typedef {Area & { x: import("./scale.js").Scale, y: import("./scale.js").Scale }} Plot
 *
 * @typedef {object} Axis
 * @property {string} title
 * @property {number[]} ticks
 * @property {(tick: number) => string} words of a tick
 *
 * @typedef {object} EdgeLabel
 * @property {string} text
 * @property {string} kind its classes
 * @property {number} height pixel of the line or point it names
 */

const LABELS_BESIDE_FROM_WIDTH = 620;
const ABOVE_PLOT = 26;
const BELOW_PLOT = 40;
const LABEL_HEIGHT = 16;
const TICK_HEIGHT = 44;
const TICK_WIDTH = 80;

/** Redraws a chart, at most once a frame, when its host changes size or on request. */
export class ChartFrame {
  #host;
  #draw;
  #picture = svg("svg", { "aria-hidden": "true" });
  #empty = element("p", { class: "chart-empty", hidden: true });
  #frame = 0;

  /**
   * @param {HTMLElement} host
   * @param {(width: number, height: number) => readonly SVGElement[] | string} draw the parts of the picture, or a
   *   sentence where there is nothing to show; called only while the host has a width
   */
  constructor(host, draw) {
    this.#host = host;
    this.#draw = draw;
    host.replaceChildren(this.#picture, this.#empty);
    new ResizeObserver(() => this.redrawSoon()).observe(host);
  }

  /** @returns {boolean} whether the picture is older than what was asked for */
  get isStale() {
    return this.#frame !== 0;
  }

  redrawSoon() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#redraw();
    });
  }

  #redraw() {
    const { clientWidth: width, clientHeight: height } = this.#host;
    if (width === 0) {
      return;
    }
    const drawn = this.#draw(width, height);
    const words = typeof drawn === "string" ? drawn : "";
    this.#empty.textContent = words;
    this.#empty.hidden = words === "";
    setAttributes(this.#picture, { width, height, viewBox: `0 0 ${width} ${height}` });
    this.#picture.replaceChildren(...(typeof drawn === "string" ? [] : drawn));
  }
}

/**
 * @param {number} width of the host
 * @param {number} height of the host
 * @param {number} left room for the words of the vertical axis
 * @param {number} right room for labels beside the plot
 * @returns {Area}
 */
export function plotArea(width, height, left, right) {
  return { left, right: width - right, top: ABOVE_PLOT, bottom: height - BELOW_PLOT };
}

/**
 * The area of a chart of episodes: equal in all charts of one width, so that they stand on one axis.
 *
 * @param {number} width of the host
 * @param {number} height of the host
 * @returns {{ area: Area, beside: boolean }} and whether labels stand beside the plot
 */
export function episodePlotArea(width, height) {
  const beside = width >= LABELS_BESIDE_FROM_WIDTH;
  return { area: plotArea(width, height, 56, beside ? 184 : 22), beside };
}

/**
 * @param {Area} area
 * @param {readonly SVGElement[]} parts
 * @returns {SVGElement} the parts, as far as they lie in the area
 */
export function clipped({ left, right, top, bottom }, parts) {
  const [width, height] = [Math.max(0, right - left), Math.max(0, bottom - top + 4)];
  return svg("svg", { x: left, y: top - 2, width, height, viewBox: `${left} ${top - 2} ${width} ${height}` }, ...parts);
}

/**
 * @param {Plot} plot
 * @param {boolean} logarithmic
 * @param {number} [bestUs] the time whose unit is that of all ticks: other figures of the page have it too
 * @param {string} [quantity] what is shown: a step time, or the period of a stream
 * @returns {Axis} step times, in one unit for all ticks
 */
export function stepTimeAxis(plot, logarithmic, bestUs = plot.y.domain[1], quantity = "step time") {
  const { domain } = plot.y;
  const { unit, divisor } = timeUnit(bestUs);
  const ticks = (logarithmic ? logTicks : linearTicks)(domain, mostUp(plot));
  const step = ticks.length > 1 ? (ticks[1] - ticks[0]) / divisor : 1;
  return {
    title: `${quantity} (${unit})${logarithmic ? ", log scale" : ""}`,
    ticks,
    words: (tick) => tickText(tick / divisor, step, logarithmic),
  };
}

/**
 * @param {Plot} plot
 * @param {string} title
 * @param {boolean} [logarithmic]
 * @returns {Axis} for integers
 */
export function countAxis(plot, title, logarithmic = false) {
  const ticks = (logarithmic ? logTicks : linearTicks)(plot.x.domain, mostAcross(plot));
  return { title, ticks: ticks.filter(Number.isInteger), words: formatCount };
}

/**
 * @param {Area} area
 * @returns {number} the ticks that a horizontal axis has room for
 */
export function mostAcross({ left, right }) {
  return Math.max(2, Math.floor((right - left) / TICK_WIDTH));
}

/**
 * @param {Area} area
 * @returns {number} the ticks that a vertical axis has room for
 */
export function mostUp({ top, bottom }) {
  return Math.max(3, Math.floor((bottom - top) / TICK_HEIGHT));
}

/**
 * @param {Plot} plot
 * @param {Axis} across
 * @param {Axis} up with a line across the plot at each tick
 * @returns {SVGElement[]}
 */
export function axes({ left, right, top, bottom, x, y }, across, up) {
  return [
    ...up.ticks.map((tick) => svg("path", { class: "chart-grid", d: `M${left},${crisp(y.toPixel(tick))}H${right}` })),
    ...up.ticks.map((tick) => label(left - 8, y.toPixel(tick) + 4, up.words(tick), "chart-tick", "end")),
    svg("path", { class: "chart-axis", d: `M${left},${crisp(bottom)}H${right}` }),
    ...across.ticks.map((tick) => svg("path", { class: "chart-axis", d: `M${crisp(x.toPixel(tick))},${bottom}v4` })),
    ...across.ticks.map((tick) => label(x.toPixel(tick), bottom + 18, across.words(tick), "chart-tick", "middle")),
    label(left, top - 10, up.title, "chart-title", "start"),
    label(right, bottom + 34, across.title, "chart-title", "end"),
  ];
}

/**
 * Labels at the right edge, each as near as possible to the height of its line or point.
 *
 * @param {Area} area
 * @param {boolean} beside the plot instead of in it, above the lines
 * @param {readonly EdgeLabel[]} labels
 * @returns {SVGElement[]}
 */
export function edgeLabels(area, beside, labels) {
  const wanted = labels.map(({ height }) => height + (beside ? 4 : -5));
  const places = spreadLabels(wanted, LABEL_HEIGHT, [area.top + 8, area.bottom - 2]);
  const x = beside ? area.right + 8 : area.right - 4;
  return labels.map(({ text, kind }, index) => label(x, places[index], text, kind, beside ? "start" : "end"));
}

/**
 * Pixel positions for labels without overlap, as near as possible to the wanted ones and within the bounds.
 *
 * @param {readonly number[]} wanted pixels, in any order
 * @param {number} height of one label
 * @param {readonly [number, number]} bounds
 * @returns {number[]} in the order of `wanted`
 */
export function spreadLabels(wanted, height, [top, bottom]) {
  const order = wanted.map((_, index) => index).sort((one, other) => wanted[one] - wanted[other] || one - other);
  const placed = new Array(wanted.length).fill(0);
  let free = top;
  for (const index of order) {
    placed[index] = Math.max(wanted[index], free);
    free = placed[index] + height;
  }
  let limit = bottom;
  for (const index of order.reverse()) {
    placed[index] = Math.min(placed[index], limit);
    limit = placed[index] - height;
  }
  return placed;
}

/**
 * @param {Plot} plot
 * @param {number} value
 * @returns {number} its pixel, or the edge if it lies outside the plot
 */
export function heightOf({ top, bottom, y }, value) {
  return Math.max(top, Math.min(bottom, y.toPixel(value)));
}

/**
 * @param {readonly (readonly [number, number])[]} points pixels, at least one
 * @returns {string} a path that keeps each value until the next point
 */
export function stepPath([first, ...rest]) {
  return `M${rounded(first[0])},${rounded(first[1])}${rest.map(([x, y]) => `H${rounded(x)}V${rounded(y)}`).join("")}`;
}

/**
 * @param {number} x
 * @param {number} y
 * @param {string} text
 * @param {string} kind
 * @param {"start" | "middle" | "end"} anchor
 * @returns {SVGElement}
 */
export function label(x, y, text, kind, anchor) {
  return svg("text", { class: kind, x: rounded(x), y: rounded(y), "text-anchor": anchor }, text);
}

/** @param {number} pixel of a thin horizontal or vertical line */
export function crisp(pixel) {
  return Math.round(pixel) + 0.5;
}

/** @param {number} pixel */
export function rounded(pixel) {
  return Math.round(pixel * 10) / 10;
}

/**
 * @param {number} value
 * @param {number} step
 * @param {boolean} logarithmic
 * @returns {string}
 */
function tickText(value, step, logarithmic) {
  if (logarithmic) {
    return value.toLocaleString("en", { maximumSignificantDigits: 3 });
  }
  const decimals = Math.min(6, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
  return withDecimals(value, decimals);
}
