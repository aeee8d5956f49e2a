/** The parts of the chart as SVG elements, and its points on a canvas. Pure drawing: all figures come from outside. */

import { changes, distinctPoints, envelope, runningMean } from "./decimate.js";
import { svg } from "../ui/dom.js";
import { formatCount, formatTime, timeUnit } from "../ui/format.js";
import { spreadLabels } from "./chart-model.js";
import { linearTicks, logTicks } from "./scale.js";

/** @typedef {import("../run/run-state.js").Episode} Episode */

/**
 * @typedef {object} Plot where things are, in pixels
 * @property {number} left
 * @property {number} right
 * @property {number} top
 * @property {number} bottom
 * @property {import("./scale.js").Scale} x from episode number
 * @property {import("./scale.js").Scale} y from step time in µs
 * @property {boolean} gutter whether labels stand to the right of the plot instead of in it
 * @property {boolean} logarithmic
 */

export const MEAN_WINDOW = 50;
const LABEL_HEIGHT = 16;
const POINT_RADIUS = 1.9;

/**
 * @param {Plot} plot
 * @param {string} [title] of the horizontal axis
 * @param {boolean} [logarithmicX]
 * @returns {SVGElement[]}
 */
export function axes(plot, title = "episode", logarithmicX = false) {
  const { left, right, top, bottom, x, y } = plot;
  const { unit, divisor } = timeUnit(y.domain[1]);
  const mostY = Math.max(3, Math.floor((bottom - top) / 44));
  const yTicks = plot.logarithmic ? logTicks(y.domain, mostY) : linearTicks(y.domain, mostY);
  const xTicks = (logarithmicX ? logTicks : linearTicks)(x.domain, Math.max(2, Math.floor((right - left) / 90))).filter(Number.isInteger);
  const step = yTicks.length > 1 ? (yTicks[1] - yTicks[0]) / divisor : 1;
  return [
    ...yTicks.map((tick) => rule(left, right, y.toPixel(tick))),
    ...yTicks.map((tick) =>
      label(left - 8, y.toPixel(tick) + 4, tickText(tick / divisor, step, plot.logarithmic), "chart-tick", "end"),
    ),
    svg("path", { class: "chart-axis", d: `M${left},${bottom + 0.5}H${right}` }),
    ...xTicks.map((tick) => svg("path", { class: "chart-axis", d: `M${crisp(x.toPixel(tick))},${bottom}v4` })),
    ...xTicks.map((tick) => label(x.toPixel(tick), bottom + 18, formatCount(tick), "chart-tick", "middle")),
    label(left, top - 10, `step time (${unit})${plot.logarithmic ? ", log scale" : ""}`, "chart-title", "start"),
    label(right, bottom + 34, title, "chart-title", "end"),
  ];
}

/**
 * The horizontal lines with their labels; those beyond the range are told at the edge with an arrow.
 *
 * @param {Plot} plot
 * @param {import("./chart-model.js").Line[]} lines
 * @returns {SVGElement[]}
 */
export function baselines(plot, lines) {
  const wanted = lines.map((line) => edgePixel(plot, line));
  const offset = plot.gutter ? 4 : -5;
  const places = spreadLabels(wanted.map((pixel) => pixel + offset), LABEL_HEIGHT, [plot.top + 8, plot.bottom - 2]);
  return lines.flatMap((line, index) => {
    const arrow = { inside: "", above: "↑ ", below: "↓ " }[line.place];
    const text = `${arrow}${line.label} ${formatTime(line.valueUs)}`;
    const where = plot.gutter ? plot.right + 8 : plot.right - 4;
    const named = label(where, places[index], text, `chart-label is-${line.key}`, plot.gutter ? "start" : "end");
    if (line.place !== "inside") {
      return [named];
    }
    const d = `M${plot.left},${crisp(wanted[index])}H${plot.right}`;
    return [svg("path", { class: `chart-line is-${line.key}`, d }), named];
  });
}

/**
 * Best so far as steps, and the running mean.
 *
 * @param {Plot} plot
 * @param {readonly Episode[]} episodes
 * @returns {SVGElement[]}
 */
export function curves(plot, episodes) {
  if (episodes.length === 0) {
    return [];
  }
  const best = changes(episodes, ({ bestStepTimeUs }) => bestStepTimeUs);
  const x = (/** @type {number} */ index) => rounded(plot.x.toPixel(episodes[index].episode));
  const y = (/** @type {number} */ value) => rounded(within(plot, plot.y.toPixel(value)));
  const made = [];
  const mean = runningMean(episodes.map(({ stepTimeUs }) => stepTimeUs), MEAN_WINDOW);
  const points = envelope(mean, Math.round(plot.right - plot.left)).filter(({ index }) => index >= MEAN_WINDOW / 5);
  if (points.length > 1) {
    made.push(svg("path", { class: "chart-mean", d: `M${points.map((p) => `${x(p.index)},${y(p.value)}`).join("L")}` }));
  }
  if (best.length > 0) {
    const steps = best.slice(1).map(({ index, value }) => `H${x(index)}V${y(value)}`);
    const d = `M${x(best[0].index)},${y(best[0].value)}${steps.join("")}H${x(episodes.length - 1)}`;
    made.push(svg("path", { class: "chart-best", d }));
  }
  return made;
}

/**
 * Every episode as a point; one that does not fit the memory as a cross; one beyond the range as a tick at the edge.
 *
 * @param {CanvasRenderingContext2D} context
 * @param {Plot} plot
 * @param {readonly Episode[]} episodes
 * @param {{ feasible: string, infeasible: string }} colours
 */
export function drawPoints(context, plot, episodes, colours) {
  const points = distinctPoints(
    episodes,
    ({ episode }) => plot.x.toPixel(episode),
    ({ stepTimeUs }) => within(plot, plot.y.toPixel(stepTimeUs)),
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
 * The episode that is shown, or the one under the pointer.
 *
 * @param {Plot} plot
 * @param {Episode} episode
 * @param {string} kind
 * @returns {SVGElement[]}
 */
export function cursor(plot, episode, kind) {
  const x = rounded(plot.x.toPixel(episode.episode));
  const y = rounded(within(plot, plot.y.toPixel(episode.stepTimeUs)));
  return [
    svg("path", { class: `chart-cursor is-${kind}`, d: `M${x},${plot.top}V${plot.bottom}` }),
    svg("circle", { class: `chart-dot is-${kind}`, cx: x, cy: y, r: kind === "shown" ? 5 : 4 }),
  ];
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

/**
 * @param {Plot} plot
 * @param {import("./chart-model.js").Line} line
 * @returns {number}
 */
function edgePixel(plot, line) {
  if (line.place === "above") {
    return plot.top;
  }
  return line.place === "below" ? plot.bottom : plot.y.toPixel(line.valueUs);
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
  return value.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

/**
 * @param {number} from
 * @param {number} to
 * @param {number} y
 * @returns {SVGElement}
 */
function rule(from, to, y) {
  return svg("path", { class: "chart-grid", d: `M${from},${crisp(y)}H${to}` });
}

/**
 * @param {number} x
 * @param {number} y
 * @param {string} text
 * @param {string} kind
 * @param {"start" | "middle" | "end"} anchor
 * @returns {SVGElement}
 */
function label(x, y, text, kind, anchor) {
  return svg("text", { class: kind, x: rounded(x), y: rounded(y), "text-anchor": anchor }, text);
}

/**
 * @param {Plot} plot
 * @param {number} pixel
 * @returns {number}
 */
function within(plot, pixel) {
  return Math.max(plot.top, Math.min(plot.bottom, pixel));
}

/** @param {number} pixel */
function crisp(pixel) {
  return Math.round(pixel) + 0.5;
}

/** @param {number} pixel */
function rounded(pixel) {
  return Math.round(pixel * 10) / 10;
}
