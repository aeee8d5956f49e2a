/** The figure of a comparison: best step time against evaluations, with a labelled line and a band for each method. */

import { svg } from "../ui/dom.js";
import { formatTime } from "../ui/format.js";
import { axes, ChartFrame, countAxis, edgeLabels, heightOf, label, mostUp, plotArea, rounded, stepPath, stepTimeAxis } from "./chart-frame.js";
import { comparisonModel } from "./comparison-model.js";
import { linearScale, logScale, roundedUp } from "./scale.js";

/** @typedef {import("./comparison-model.js").ComparisonState} ComparisonState */
/** @typedef {import("./comparison-model.js").Series} Series */
/** @typedef {import("./chart-frame.js").Plot} Plot x from the evaluations, y from the step time in µs */

const LABELS_FROM_WIDTH = 560;

export class ComparisonChart {
  #frame;
  /** What the times are: step times, or the periods of a stream. */
  #quantity;
  /** @type {ComparisonState | null} */
  #state = null;

  /** @param {HTMLElement} host */
  constructor(host) {
    this.#quantity = host.dataset.quantity;
    this.#frame = new ChartFrame(host, (width, height) => this.#draw(width, height));
  }

  /** @param {ComparisonState} state */
  update(state) {
    this.#state = state;
    this.#frame.redrawSoon();
  }

  /**
   * @param {number} width
   * @param {number} height
   * @returns {SVGElement[] | string}
   */
  #draw(width, height) {
    const model = this.#state && comparisonModel(this.#state);
    if (!model) {
      return "Lines appear here once runs have found placements.";
    }
    const named = width >= LABELS_FROM_WIDTH;
    const area = plotArea(width, height, 52, named ? 190 : 16);
    const plot = {
      ...area,
      x: logScale(model.evaluations, [area.left + 4, area.right - 4]),
      y: linearScale(roundedUp(model.rangeUs, mostUp(area)), [area.bottom, area.top]),
    };
    const { series } = model;
    return [
      ...axes(plot, countAxis(plot, "evaluations, log scale", true), stepTimeAxis(plot, false, undefined, this.#quantity)),
      ...singleDevice(plot, model.singleDeviceUs, named),
      ...series.map((one) => svg("path", { class: `series-band is-series-${one.index}`, d: bandPath(plot, one) })),
      ...series.map((one) => svg("path", { class: `series-line is-series-${one.index}`, d: linePath(plot, one) })),
      ...series.map((one) => svg("path", { class: `series-line is-tail is-series-${one.index}`, d: tailPath(plot, one) })),
      ...(named ? edgeLabels(plot, true, [...series.map((one) => nameOf(plot, one)), ...nameOfSingle(plot, model.singleDeviceUs)]) : []),
    ];
  }
}

/**
 * @param {Plot} plot
 * @param {Series} series
 * @returns {string} steps through the medians, to the last evaluation of the method
 */
function linePath(plot, { band }) {
  const dash = band.evaluations.length === 1 ? "h5" : ""; // a method with one placement is a short dash
  return `${stepPath(pointsOf(plot, band.evaluations, band.median_us))}${dash}`;
}

/**
 * @param {Plot} plot
 * @param {Series} series
 * @returns {string} from the method's last evaluation on to its label, thinner
 */
function tailPath(plot, { band, lastUs }) {
  const from = plot.x.toPixel(band.evaluations[band.evaluations.length - 1]);
  return `M${rounded(from)},${rounded(heightOf(plot, lastUs))}H${plot.right}`;
}

/**
 * @param {Plot} plot
 * @param {Series} series
 * @returns {string}
 */
function bandPath(plot, { band }) {
  const lower = pointsOf(plot, band.evaluations, band.low_us).reverse();
  // backwards, a step moves vertically before it moves horizontally
  const back = lower.map(([x, y], index) => (index === 0 ? `L${rounded(x)},${rounded(y)}` : `V${rounded(y)}H${rounded(x)}`));
  return lower.length === 1 ? "" : `${stepPath(pointsOf(plot, band.evaluations, band.high_us))}${back.join("")}Z`;
}

/**
 * @param {Plot} plot
 * @param {number[]} evaluations
 * @param {number[]} values
 * @returns {[number, number][]} pixels
 */
function pointsOf(plot, evaluations, values) {
  return evaluations.map((count, index) => [plot.x.toPixel(count), heightOf(plot, values[index])]);
}

/**
 * @param {Plot} plot
 * @param {Series} series
 * @returns {import("./chart-frame.js").EdgeLabel} the method's name and last median, at the height at which its line ends
 */
function nameOf(plot, { index, label: name, lastUs }) {
  const arrow = lastUs > plot.y.domain[1] ? "↑ " : "";
  const kind = `series-label is-series-${index}`;
  return { text: `${arrow}${name} ${formatTime(lastUs)}`, kind, height: heightOf(plot, lastUs) };
}

/**
 * @param {Plot} plot
 * @param {number | null} us
 * @param {boolean} named whether its name stands beside the plot
 * @returns {SVGElement[]}
 */
function singleDevice(plot, us, named) {
  return nameOfSingle(plot, us).flatMap(({ text, kind, height }) => [
    svg("path", { class: "chart-line is-one-device", d: `M${plot.left},${rounded(height)}H${plot.right}` }),
    ...(named ? [] : [label(plot.left + 6, rounded(height) - 5, text, kind, "start")]),
  ]);
}

/**
 * @param {Plot} plot
 * @param {number | null} us
 * @returns {import("./chart-frame.js").EdgeLabel[]} the name of the line of one device; none outside the range
 */
function nameOfSingle({ y }, us) {
  if (us === null || us > y.domain[1] || us < y.domain[0]) {
    return [];
  }
  return [{ text: `One device ${formatTime(us)}`, kind: "chart-label is-one-device", height: y.toPixel(us) }];
}
