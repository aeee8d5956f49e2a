/** The figure of a comparison: best step time against evaluations, a line and a band a method, named at its end. */

import { axes } from "./chart-drawing.js";
import { spreadLabels } from "./chart-model.js";
import { comparisonModel } from "./comparison-model.js";
import { element, setAttributes, svg } from "../ui/dom.js";
import { formatTime } from "../ui/format.js";
import { linearScale, logScale } from "./scale.js";

/** @typedef {import("./comparison-model.js").ComparisonState} ComparisonState */
/** @typedef {import("./comparison-model.js").Series} Series */
/** @typedef {import("./chart-drawing.js").Plot} Plot */

const LABEL_HEIGHT = 16;
const GUTTER = 190;
const GUTTER_FROM_WIDTH = 560;

export class ComparisonChart {
  #host;
  #picture = svg("svg", { "aria-hidden": "true" });
  #empty = element("p", { class: "chart-empty" }, "Lines appear here as soon as runs have found something.");
  /** @type {ComparisonState | null} */
  #state = null;
  #frame = 0;

  /** @param {HTMLElement} host */
  constructor(host) {
    this.#host = host;
    host.replaceChildren(this.#picture, this.#empty);
    new ResizeObserver(() => this.#redrawSoon()).observe(host);
  }

  /** @param {ComparisonState} state */
  update(state) {
    this.#state = state;
    this.#redrawSoon();
  }

  #redrawSoon() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#redraw();
    });
  }

  #redraw() {
    const { clientWidth: width, clientHeight: height } = this.#host;
    const model = this.#state && comparisonModel(this.#state);
    this.#empty.hidden = model !== null;
    if (!model || width === 0) {
      this.#picture.replaceChildren();
      return;
    }
    setAttributes(this.#picture, { width, height, viewBox: `0 0 ${width} ${height}` });
    const gutter = width >= GUTTER_FROM_WIDTH;
    const [left, right, top, bottom] = [52, width - (gutter ? GUTTER : 16), 26, height - 40];
    /** @type {Plot} */
    const plot = {
      left,
      right,
      top,
      bottom,
      x: logScale(model.evaluations, [left + 4, right - 4]),
      y: linearScale(model.rangeUs, [bottom, top]),
      gutter,
      logarithmic: false,
    };
    this.#picture.replaceChildren(
      ...axes(plot, "evaluations, log scale", true),
      ...oneDevice(plot, model.oneDeviceUs),
      ...model.series.map((series) => svg("path", { class: `series-band is-series-${series.index}`, d: bandPath(plot, series) })),
      ...model.series.map((series) => svg("path", { class: `series-line is-series-${series.index}`, d: linePath(plot, series) })),
      ...model.series.map((series) => svg("path", { class: `series-line is-tail is-series-${series.index}`, d: tailPath(plot, series) })),
      ...(gutter ? labels(plot, model.series) : []),
    );
  }
}

/**
 * @param {Plot} plot
 * @param {number} us
 * @returns {number} pixel, at the edge where it lies beyond
 */
function heightOf(plot, us) {
  return rounded(Math.min(plot.bottom, Math.max(plot.top, plot.y.toPixel(us))));
}

/**
 * @param {Plot} plot
 * @param {Series} series
 * @returns {string} steps through the medians, to the last evaluation of the method
 */
function linePath(plot, { band }) {
  const [first, ...steps] = stepsOf(plot, band.evaluations, band.median_us);
  const dot = steps.length === 0 ? "h5" : ""; // a method with one placement is a short dash
  return `M${first[0]},${first[1]}${steps.map(([x, y]) => `H${x}V${y}`).join("")}${dot}`;
}

/**
 * @param {Plot} plot
 * @param {Series} series
 * @returns {string} from the method's last evaluation on to its label, thinner
 */
function tailPath(plot, { band, lastUs }) {
  const from = rounded(plot.x.toPixel(band.evaluations[band.evaluations.length - 1]));
  return `M${from},${heightOf(plot, lastUs)}H${plot.right}`;
}

/**
 * @param {Plot} plot
 * @param {Series} series
 * @returns {string}
 */
function bandPath(plot, { band }) {
  const [first, ...upper] = stepsOf(plot, band.evaluations, band.high_us);
  const lower = stepsOf(plot, band.evaluations, band.low_us).reverse();
  const forth = upper.map(([x, y]) => `H${x}V${y}`).join("");
  // backwards a step goes down before it goes on
  const down = lower.map(([x, y], index) => (index === 0 ? `L${x},${y}` : `V${y}H${x}`)).join("");
  return upper.length === 0 ? "" : `M${first[0]},${first[1]}${forth}${down}Z`;
}

/**
 * @param {Plot} plot
 * @param {number[]} evaluations
 * @param {number[]} values
 * @returns {[number, number][]} pixels
 */
function stepsOf(plot, evaluations, values) {
  return evaluations.map((count, index) => [rounded(plot.x.toPixel(count)), heightOf(plot, values[index])]);
}

/**
 * @param {Plot} plot
 * @param {readonly Series[]} series
 * @returns {SVGElement[]} each method's name and last median beside the height at which its line ends
 */
function labels(plot, series) {
  const wanted = series.map(({ lastUs }) => heightOf(plot, lastUs) + 4);
  const places = spreadLabels(wanted, LABEL_HEIGHT, [plot.top + 4, plot.bottom]);
  return series.map(({ index, label, lastUs }, position) => {
    const arrow = lastUs > plot.y.domain[1] ? "↑ " : "";
    const where = { x: plot.right + 8, y: rounded(places[position]), class: `series-label is-series-${index}` };
    return svg("text", where, `${arrow}${label} ${formatTime(lastUs)}`);
  });
}

/**
 * @param {Plot} plot
 * @param {number | null} us
 * @returns {SVGElement[]}
 */
function oneDevice(plot, us) {
  if (us === null || us > plot.y.domain[1] || us < plot.y.domain[0]) {
    return [];
  }
  const y = rounded(plot.y.toPixel(us));
  return [
    svg("path", { class: "chart-line is-single_device", d: `M${plot.left},${y}H${plot.right}` }),
    svg("text", { x: plot.left + 6, y: y - 5, class: "chart-label is-single_device" }, `one device ${formatTime(us)}`),
  ];
}

/**
 * @param {number} pixel
 * @returns {number}
 */
function rounded(pixel) {
  return Math.round(pixel * 10) / 10;
}
