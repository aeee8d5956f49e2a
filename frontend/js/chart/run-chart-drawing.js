/** The marks of a run's chart: SVG for lines and labels, a canvas for the points. */

import { svg } from "../ui/dom.js";
import { formatTime } from "../ui/format.js";
import { crisp, edgeLabels, heightOf, rounded, stepPath } from "./chart-frame.js";
import { changes, distinctPoints, envelope } from "./decimate.js";

/** @typedef {import("../run/run-state.js").Episode} Episode */
/** @typedef {import("./chart-frame.js").Plot} Plot x from the episode's number, y from the step time in µs */

export const MEAN_WINDOW = 50;
const POINT_RADIUS = 1.9;
const ARROWS = { inside: "", above: "↑ ", below: "↓ " };

/**
 * The horizontal lines with their labels; a line outside the range has only a label at the edge, with an arrow.
 *
 * @param {Plot} plot
 * @param {boolean} beside whether the labels stand beside the plot
 * @param {import("./run-chart-model.js").Line[]} lines
 * @returns {SVGElement[]}
 */
export function baselines(plot, beside, lines) {
  const inside = lines.filter(({ place }) => place === "inside");
  const labels = lines.map((line) => ({
    text: `${ARROWS[line.place]}${line.label} ${formatTime(line.valueUs)}`,
    kind: `chart-label is-${line.key}`,
    height: heightOf(plot, line.valueUs),
  }));
  return [
    ...inside.map(({ key, valueUs }) =>
      svg("path", { class: `chart-line is-${key}`, d: `M${plot.left},${crisp(plot.y.toPixel(valueUs))}H${plot.right}` }),
    ),
    ...edgeLabels(plot, beside, labels),
  ];
}

/**
 * Best so far as steps, and the running mean.
 *
 * @param {Plot} plot
 * @param {readonly Episode[]} episodes
 * @param {readonly number[]} mean the running mean at each episode
 * @param {readonly [number, number]} part the episodes to draw: from an index to before another
 * @returns {SVGElement[]}
 */
export function curves(plot, episodes, mean, [from, to]) {
  const x = (/** @type {number} */ index) => plot.x.toPixel(episodes[from + index].episode);
  const made = [];
  const points = envelope(mean.slice(from, to), Math.round(plot.right - plot.left));
  const settled = points.filter(({ index }) => from + index >= MEAN_WINDOW / 5);
  if (settled.length > 1) {
    const through = settled.map(({ index, value }) => `${rounded(x(index))},${rounded(heightOf(plot, value))}`);
    made.push(svg("path", { class: "chart-mean", d: `M${through.join("L")}` }));
  }
  const best = changes(episodes.slice(from, to), ({ bestStepTimeUs }) => bestStepTimeUs);
  if (best.length > 0) {
    const steps = stepPath(best.map(({ index, value }) => [x(index), heightOf(plot, value)]));
    made.push(svg("path", { class: "chart-best", d: `${steps}H${rounded(x(to - from - 1))}` }));
  }
  return made;
}

/**
 * Every episode as a point, or a cross if it does not fit in memory; beyond the range, at the edge.
 *
 * @param {CanvasRenderingContext2D} context
 * @param {Plot} plot
 * @param {readonly Episode[]} shown the episodes to draw
 * @param {{ feasible: string, infeasible: string }} colours
 */
export function drawPoints(context, plot, shown, colours) {
  const [low, high] = plot.x.domain;
  const episodes = shown.filter(({ episode }) => episode >= low && episode <= high);
  const points = distinctPoints(
    episodes,
    ({ episode }) => plot.x.toPixel(episode),
    ({ stepTimeUs }) => heightOf(plot, stepTimeUs),
  );
  context.lineWidth = 1.2;
  const radius = points.length > 4000 ? POINT_RADIUS * 0.75 : POINT_RADIUS;
  for (const feasible of [false, true]) {
    context.beginPath();
    for (const { x, y, index } of points) {
      if (episodes[index].feasible === feasible) {
        mark(context, x, y, feasible, radius);
      }
    }
    context.globalAlpha = feasible ? 0.6 : 0.75;
    context.fillStyle = colours.feasible;
    context.strokeStyle = colours.infeasible;
    if (feasible) {
      context.fill();
    } else {
      context.stroke();
    }
  }
  context.globalAlpha = 1;
}

/**
 * @param {Plot} plot
 * @param {import("./seed-band.js").EpisodeBand} band
 * @returns {SVGElement[]} the area from the least to the greatest, and the median
 */
export function seedBand(plot, { numbers, median_us: median, low_us: low, high_us: high }) {
  if (numbers.length < 2) {
    return [];
  }
  const points = (/** @type {number[]} */ values) =>
    values.map((value, index) => /** @type {[number, number]} */ ([plot.x.toPixel(numbers[index]), plot.y.toPixel(value)]));
  const back = points(low).reverse(); // backwards, a step moves vertically before it moves horizontally
  const way = back.map(([x, y], index) => (index === 0 ? `L${rounded(x)},${rounded(y)}` : `V${rounded(y)}H${rounded(x)}`));
  return [
    svg("path", { class: "chart-band", d: `${stepPath(points(high))}${way.join("")}Z` }),
    svg("path", { class: "chart-band-median", d: stepPath(points(median)) }),
  ];
}

/**
 * The episode that is shown, or the one under the pointer; nothing if the plot does not show it.
 *
 * @param {Plot} plot
 * @param {Episode} episode
 * @param {string} kind
 * @returns {SVGElement[]}
 */
export function cursor(plot, episode, kind) {
  if (!showsNumber(plot, episode.episode)) {
    return [];
  }
  const x = rounded(plot.x.toPixel(episode.episode));
  const y = rounded(heightOf(plot, episode.stepTimeUs));
  return [
    cursorLine(plot, episode.episode, kind),
    svg("circle", { class: `chart-dot is-${kind}`, cx: x, cy: y, r: kind === "shown" ? 5 : 4 }),
  ];
}

/**
 * @param {Plot} plot
 * @param {number} number of an episode
 * @param {string} kind
 * @returns {SVGElement}
 */
export function cursorLine(plot, number, kind) {
  const x = rounded(plot.x.toPixel(number));
  return svg("path", { class: `chart-cursor is-${kind}`, d: `M${x},${plot.top}V${plot.bottom}` });
}

/**
 * @param {Plot} plot
 * @param {number} number of an episode
 * @returns {boolean} whether it lies within what the plot shows
 */
export function showsNumber({ x }, number) {
  return number >= x.domain[0] && number <= x.domain[1];
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} x
 * @param {number} y
 * @param {boolean} feasible
 * @param {number} radius
 */
function mark(context, x, y, feasible, radius) {
  if (feasible) {
    context.moveTo(x + radius, y);
    context.arc(x, y, radius, 0, Math.PI * 2);
  } else {
    context.moveTo(x - 2.5, y - 2.5);
    context.lineTo(x + 2.5, y + 2.5);
    context.moveTo(x - 2.5, y + 2.5);
    context.lineTo(x + 2.5, y - 2.5);
  }
}
