/** The chart of a training: the gap of its samples to the best known placements, over the seconds of training. */

import { svg } from "../ui/dom.js";
import { formatPercent } from "../ui/format.js";
import { axes, ChartFrame, mostAcross, mostUp, plotArea, rounded } from "./chart-frame.js";
import { linearScale, linearTicks } from "./scale.js";

/** @typedef {import("../jobs/policy-state.js").PolicyState} PolicyState */

const MOST_POINTS = 800;

export class PolicyChart {
  #host;
  #frame;
  /** @type {PolicyState | null} */
  #state = null;

  /** @param {HTMLElement} host */
  constructor(host) {
    this.#host = host;
    this.#frame = new ChartFrame(host, (width, height) => this.#draw(width, height));
  }

  /** @param {PolicyState} state */
  update(state) {
    this.#state = state;
    this.#host.hidden = state.points.length === 0; // the sentence below says why
    this.#frame.redrawSoon();
  }

  /**
   * @param {number} width
   * @param {number} height
   * @returns {SVGElement[] | string}
   */
  #draw(width, height) {
    const points = thinned(this.#state?.points ?? []);
    const end = points.at(-1);
    if (!end) {
      return "";
    }
    const gaps = points.map(({ gap }) => gap);
    const area = plotArea(width, height, 58, 16);
    const x = linearScale([0, Math.max(1, end.seconds)], [area.left, area.right]);
    const y = linearScale([Math.min(0, ...gaps), Math.max(0.01, ...gaps) * 1.05], [area.bottom, area.top]);
    const place = (/** @type {{ seconds: number, gap: number }} */ { seconds, gap }) =>
      `${rounded(x.toPixel(seconds))},${rounded(y.toPixel(gap))}`;
    const across = { title: "seconds of training", ticks: linearTicks(x.domain, mostAcross(area)), words: secondsText };
    const up = { title: "slower than the best known", ticks: linearTicks(y.domain, mostUp(area)), words: formatPercent };
    return [
      ...axes({ ...area, x, y }, across, up),
      svg("path", { class: "chart-best", d: `M${points.map(place).join("L")}` }),
      svg("circle", { class: "chart-dot is-shown", cx: rounded(x.toPixel(end.seconds)), cy: rounded(y.toPixel(end.gap)), r: 4 }),
    ];
  }
}

/** @param {number} seconds */
function secondsText(seconds) {
  return `${seconds.toLocaleString("en")} s`;
}

/**
 * @template Item
 * @param {readonly Item[]} points
 * @returns {Item[]} no more than can be seen, the last included
 */
function thinned(points) {
  const every = Math.ceil(points.length / MOST_POINTS) || 1;
  return points.filter((_, index) => index % every === 0 || index === points.length - 1);
}
