/** The chart of a training: how far its samples are behind the best known, over its seconds. */

import { setAttributes, svg } from "../ui/dom.js";
import { formatGap } from "../ui/format.js";
import { linearScale, linearTicks } from "./scale.js";

/** @typedef {import("../jobs/policy-state.js").PolicyState} PolicyState */

const MOST_POINTS = 800;

export class PolicyChart {
  #host;
  #picture = svg("svg", { "aria-hidden": "true" });
  /** @type {PolicyState | null} */
  #state = null;
  #frame = 0;

  /** @param {HTMLElement} host */
  constructor(host) {
    this.#host = host;
    host.replaceChildren(this.#picture);
    new ResizeObserver(() => this.#redrawSoon()).observe(host);
  }

  /** @param {PolicyState} state */
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
    const points = thinned(this.#state?.points ?? []);
    this.#host.hidden = points.length === 0; // the sentence below says why
    const { clientWidth: width, clientHeight: height } = this.#host;
    if (points.length === 0 || width === 0) {
      this.#picture.replaceChildren();
      return;
    }
    setAttributes(this.#picture, { width, height, viewBox: `0 0 ${width} ${height}` });
    const [left, right, top, bottom] = [58, width - 16, 22, height - 38];
    const last = points[points.length - 1].seconds;
    const gaps = points.map(({ gap }) => gap);
    const x = linearScale([0, Math.max(1, last)], [left, right]);
    const y = linearScale([Math.min(0, ...gaps), Math.max(0.01, ...gaps) * 1.05], [bottom, top]);
    const place = (/** @type {{ seconds: number, gap: number }} */ { seconds, gap }) =>
      `${rounded(x.toPixel(seconds))},${rounded(y.toPixel(gap))}`;
    const end = points[points.length - 1];
    this.#picture.replaceChildren(
      ...linearTicks(y.domain, Math.max(3, Math.floor((bottom - top) / 44))).flatMap((tick) => [
        svg("path", { class: "chart-grid", d: `M${left},${crisp(y.toPixel(tick))}H${right}` }),
        text(left - 8, y.toPixel(tick) + 4, formatGap(tick), "chart-tick", "end"),
      ]),
      svg("path", { class: "chart-axis", d: `M${left},${crisp(bottom)}H${right}` }),
      ...linearTicks(x.domain, Math.max(2, Math.floor((right - left) / 90))).map((tick) =>
        text(x.toPixel(tick), bottom + 17, `${tick.toLocaleString("en")} s`, "chart-tick", "middle"),
      ),
      text(left, top - 8, "gap to the best known", "chart-title", "start"),
      text(right, bottom + 33, "seconds of training", "chart-title", "end"),
      svg("path", { class: "chart-best", d: `M${points.map(place).join("L")}` }),
      svg("circle", { class: "chart-dot is-shown", cx: rounded(x.toPixel(end.seconds)), cy: rounded(y.toPixel(end.gap)), r: 4 }),
    );
  }
}

/**
 * @template Item
 * @param {readonly Item[]} points
 * @returns {Item[]} no more than can be seen, the last among them
 */
function thinned(points) {
  const every = Math.ceil(points.length / MOST_POINTS) || 1;
  return points.filter((_, index) => index % every === 0 || index === points.length - 1);
}

/**
 * @param {number} x
 * @param {number} y
 * @param {string} words
 * @param {string} name
 * @param {string} anchor
 */
function text(x, y, words, name, anchor) {
  return svg("text", { class: name, x: rounded(x), y: rounded(y), "text-anchor": anchor }, words);
}

/** @param {number} pixel */
function crisp(pixel) {
  return Math.round(pixel) + 0.5;
}

/** @param {number} pixel */
function rounded(pixel) {
  return Math.round(pixel * 10) / 10;
}
