/** The chart of a search for plans: throughput against the most memory of a device, with a point for each plan told. */

import { element, setAttributes, setText, svg } from "../ui/dom.js";
import { cutName, formatBytes } from "../ui/format.js";
import { axes, ChartFrame, label, mostAcross, mostUp, plotArea, rounded, spreadLabels } from "./chart-frame.js";
import { formatRate, planModel } from "./plan-points.js";
import { linearScale, linearTicks, niceStep } from "./scale.js";

/** @typedef {import("./plan-points.js").Point} Point */
/** @typedef {import("./chart-frame.js").Plot} Plot x from bytes, y from samples a second */

const LABEL_HEIGHT = 16;
const LETTER_WIDTH = 6.8;
const BESIDE = 10;
const GIB = 1024 ** 3;
const KEY_STEPS = new Map([
  ["ArrowLeft", -1],
  ["ArrowDown", -1],
  ["ArrowRight", 1],
  ["ArrowUp", 1],
]);
/** Drawn in this order: what is named lies above. */
const KINDS = ["other", "best", "usual"];

export class PlanChart {
  #host;
  #shown;
  #twin;
  #names;
  #frame;
  /** @type {import("./plan-points.js").PlanModel | null} */
  #model = null;
  /** @type {Plot | null} */
  #plot = null;
  /** The index of the chosen point; -1: none. */
  #chosen = -1;

  /**
   * @param {HTMLElement} host
   * @param {HTMLElement} shown where the words of the chosen point stand
   * @param {HTMLElement} twin the body of the table of all points
   * @param {import("./plan-points.js").Names} names
   */
  constructor(host, shown, twin, names) {
    this.#host = host;
    this.#shown = shown;
    this.#twin = twin;
    this.#names = names;
    setAttributes(host, { role: "slider", tabindex: 0, "aria-label": "Plan in the chart", "aria-valuemin": 0, "aria-valuenow": 0 });
    this.#frame = new ChartFrame(host, (width, height) => this.#draw(width, height));
    host.addEventListener("keydown", (event) => this.#onKey(event));
    host.addEventListener("pointermove", (event) => this.#choose(this.#nearest(event)));
    host.addEventListener("pointerdown", (event) => this.#choose(this.#nearest(event)));
  }

  /** @param {readonly import("./plan-points.js").ToldPlan[]} plans */
  update(plans) {
    const chosen = this.#model?.points[this.#chosen]?.words;
    this.#model = planModel(plans, this.#names);
    const points = this.#model?.points ?? [];
    this.#chosen = points.findIndex(({ words }) => words === chosen);
    const rows = [...points].sort((one, other) => other.rate - one.rate);
    this.#twin.replaceChildren(...rows.map(rowOf));
    setAttributes(this.#host, { "aria-valuemax": Math.max(0, points.length - 1) });
    this.#frame.redrawSoon();
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const count = this.#model?.points.length ?? 0;
    const step = KEY_STEPS.get(event.key);
    const edge = { Home: 0, End: count - 1 }[event.key];
    if (count === 0 || (step === undefined && edge === undefined)) {
      return;
    }
    event.preventDefault();
    this.#choose(edge ?? Math.max(0, Math.min(count - 1, this.#chosen + (step ?? 0))));
  }

  /** @param {number} index */
  #choose(index) {
    if (index === this.#chosen || index < 0) {
      return;
    }
    this.#chosen = index;
    const words = this.#model?.points[index]?.words ?? "";
    setText(this.#shown, words);
    setAttributes(this.#host, { "aria-valuenow": index, "aria-valuetext": words });
    this.#frame.redrawSoon();
  }

  /**
   * @param {PointerEvent} event
   * @returns {number} the index of the nearest point; -1 without any
   */
  #nearest(event) {
    const plot = this.#plot;
    if (!plot || !this.#model) {
      return -1;
    }
    const box = this.#host.getBoundingClientRect();
    const distances = this.#model.points.map(({ bytes, rate }) => Math.hypot(plot.x.toPixel(bytes) - (event.clientX - box.left), plot.y.toPixel(rate) - (event.clientY - box.top)));
    return distances.indexOf(Math.min(...distances));
  }

  /**
   * @param {number} width
   * @param {number} height
   * @returns {SVGElement[] | string}
   */
  #draw(width, height) {
    const model = this.#model;
    if (!model) {
      return "A point appears here for each plan that fits in memory.";
    }
    const area = plotArea(width, height, 64, 20);
    const plot = { ...area, x: linearScale(model.bytes, [area.left, area.right]), y: linearScale(model.rates, [area.bottom, area.top]) };
    this.#plot = plot;
    const chosen = model.points[this.#chosen];
    const inOrder = KINDS.flatMap((kind) => model.points.filter((point) => point.kind === kind));
    return [
      ...axes(plot, memoryAxis(plot), rateAxis(plot)),
      ...inOrder.map((point) => markOf(plot, point)),
      ...(chosen ? [svg("circle", { class: "plan-chosen", cx: rounded(plot.x.toPixel(chosen.bytes)), cy: rounded(plot.y.toPixel(chosen.rate)), r: 9 })] : []),
      ...labelsOf(plot, model.points),
    ];
  }
}

/**
 * @param {Plot} plot
 * @returns {import("./chart-frame.js").Axis} in GiB, or in MiB where all are small
 */
function memoryAxis(plot) {
  const [low, high] = plot.x.domain;
  const [unit, divisor] = high >= GIB ? ["GiB", GIB] : ["MiB", 1024 ** 2];
  const ticks = linearTicks([low / divisor, high / divisor], mostAcross(plot)).map((tick) => tick * divisor);
  return { title: `most memory of a device (${unit})`, ticks, words: (tick) => (tick / divisor).toLocaleString("en", { maximumFractionDigits: 3 }) };
}

/**
 * @param {Plot} plot
 * @returns {import("./chart-frame.js").Axis}
 */
function rateAxis(plot) {
  const [low, high] = plot.y.domain;
  const most = mostUp(plot);
  const decimals = Math.max(0, -Math.floor(Math.log10(niceStep(high - low, most)) + 1e-9));
  const words = (/** @type {number} */ tick) => tick.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  return { title: "samples a second", ticks: linearTicks(plot.y.domain, most), words };
}

/**
 * @param {Plot} plot
 * @param {Point} point
 * @returns {SVGElement} a disc; of a usual plan a square
 */
function markOf(plot, { bytes, rate, kind }) {
  const [x, y] = [rounded(plot.x.toPixel(bytes)), rounded(plot.y.toPixel(rate))];
  return kind === "usual" ? svg("rect", { class: "plan-mark is-usual", x: x - 5, y: y - 5, width: 10, height: 10 }) : svg("circle", { class: `plan-mark is-${kind}`, cx: x, cy: y, r: 4.5 });
}

/**
 * The names of the best and the usual plans, beside their points on the side where there is more room.
 *
 * @param {Plot} plot
 * @param {readonly Point[]} points
 * @returns {SVGElement[]}
 */
function labelsOf(plot, points) {
  const named = points.filter(({ label: words }) => words !== "");
  const heights = spreadLabels(named.map(({ rate }) => plot.y.toPixel(rate) + 4), LABEL_HEIGHT, [plot.top + 4, plot.bottom - 4]);
  return named.map(({ bytes, label: words, kind }, index) => {
    const x = plot.x.toPixel(bytes);
    const [before, behind] = [x - plot.left, plot.right - x].map((room) => Math.floor((room - BESIDE) / LETTER_WIDTH));
    const isBehind = behind >= Math.min(words.length, before);
    const text = cutName(words, Math.max(8, isBehind ? behind : before));
    return label(isBehind ? x + BESIDE : x - BESIDE, heights[index], text, `chart-label plan-label is-${kind}`, isBehind ? "start" : "end");
  });
}

/**
 * @param {Point} point
 * @returns {HTMLElement}
 */
function rowOf({ words, rate, bytes }) {
  const what = words.slice(words.indexOf(". ") + 2) || "a figure alone";
  return element("tr", {}, element("td", {}, what), element("td", { class: "number" }, formatRate(rate)), element("td", { class: "number" }, formatBytes(bytes)));
}
