/** The chart of a run: step time of every episode, best so far, baselines and lower bound. */

import { hasEnded } from "../jobs/job-state.js";
import { colour, onThemeChange } from "../ui/colours.js";
import { element, setAttributes, svg } from "../ui/dom.js";
import { counted, formatCount, formatDuration, formatTime } from "../ui/format.js";
import { axes, ChartFrame, countAxis, plotArea, stepTimeAxis } from "./chart-frame.js";
import { baselines, cursor, curves, drawPoints } from "./run-chart-drawing.js";
import { chartModel, episodeRange, nearestEpisode } from "./run-chart-model.js";
import { linearScale, logScale } from "./scale.js";

/** @typedef {import("../run/run-state.js").RunState} RunState */

const LABELS_BESIDE_FROM_WIDTH = 620;
const KEY_STEPS = new Map([
  ["ArrowLeft", -1],
  ["ArrowDown", -1],
  ["ArrowRight", 1],
  ["ArrowUp", 1],
  ["PageDown", -50],
  ["PageUp", 50],
]);

export class RunChart {
  #host;
  #methodLabels;
  #onSeek;
  #canvas = element("canvas", { "aria-hidden": "true" });
  #shownMark = svg("g");
  #hoverMark = svg("g");
  #tip = element("div", { class: "tip", hidden: true, "aria-hidden": "true" });
  /** @type {RunState | null} */
  #state = null;
  #shown = -1;
  #logarithmic = false;
  /** @type {import("./chart-frame.js").Plot | null} */
  #plot = null;
  #frame;

  /**
   * @param {HTMLElement} host
   * @param {Record<string, string>} methodLabels method → label
   * @param {(index: number) => void} onSeek called at a click or a key
   */
  constructor(host, methodLabels, onSeek) {
    this.#host = host;
    this.#methodLabels = methodLabels;
    this.#onSeek = onSeek;
    this.#frame = new ChartFrame(host, (width, height) => this.#draw(width, height));
    host.prepend(this.#canvas);
    host.append(this.#tip);
    setAttributes(host, { role: "slider", tabindex: 0, "aria-label": "Episode in the chart", "aria-orientation": "horizontal" });
    onThemeChange(() => this.#frame.redrawSoon()); // a canvas keeps its old colours
    host.addEventListener("pointermove", (event) => this.#onPointerMove(event));
    host.addEventListener("pointerdown", (event) => this.#onPointerDown(event));
    host.addEventListener("pointerleave", () => this.#hover(-1));
    host.addEventListener("keydown", (event) => this.#onKey(event));
  }

  /**
   * @param {RunState} state
   * @param {number} shown index of the episode shown, -1 for none
   */
  update(state, shown) {
    const changed = state !== this.#state;
    this.#state = state;
    this.#shown = shown;
    if (changed) {
      this.#frame.redrawSoon();
    } else {
      this.#markShown();
    }
  }

  /** @param {boolean} logarithmic */
  setLogarithmic(logarithmic) {
    this.#logarithmic = logarithmic;
    this.#frame.redrawSoon();
  }

  /**
   * @param {number} width
   * @param {number} height
   * @returns {SVGElement[] | string}
   */
  #draw(width, height) {
    const model = this.#state && chartModel(this.#state, this.#logarithmic, this.#methodLabels);
    const context = this.#sizeCanvas(width, height);
    if (!this.#state || !model) {
      this.#plot = null;
      this.#markShown();
      return this.#emptyWords();
    }
    const episodes = this.#state.episodes.whole();
    const beside = width >= LABELS_BESIDE_FROM_WIDTH;
    const plot = this.#plotOf(plotArea(width, height, 52, beside ? 184 : 22), model.rangeUs, episodes);
    this.#plot = plot;
    if (context) {
      drawPoints(context, plot, episodes, { feasible: colour("--chart-point"), infeasible: colour("--danger") });
    }
    this.#markShown();
    return [
      ...axes(plot, countAxis(plot, "episode"), stepTimeAxis(plot, this.#logarithmic)),
      ...curves(plot, episodes),
      ...baselines(plot, beside, model.lines),
      this.#shownMark,
      this.#hoverMark,
    ];
  }

  #emptyWords() {
    return this.#state && hasEnded(this.#state.status)
      ? "No episode was evaluated."
      : "Each episode appears here as a point once it is evaluated.";
  }

  /**
   * @param {import("./chart-frame.js").Area} area
   * @param {readonly [number, number]} rangeUs
   * @param {readonly import("../run/run-state.js").Episode[]} episodes
   * @returns {import("./chart-frame.js").Plot}
   */
  #plotOf(area, rangeUs, episodes) {
    const scale = this.#logarithmic ? logScale : linearScale;
    return {
      ...area,
      x: linearScale(episodeRange(episodes), [area.left + 4, area.right - 4]),
      y: scale(rangeUs, [area.bottom, area.top]),
    };
  }

  /**
   * @param {number} width
   * @param {number} height
   * @returns {CanvasRenderingContext2D | null}
   */
  #sizeCanvas(width, height) {
    const ratio = devicePixelRatio || 1;
    this.#canvas.width = Math.round(width * ratio);
    this.#canvas.height = Math.round(height * ratio);
    const context = this.#canvas.getContext("2d");
    context?.scale(ratio, ratio);
    return context;
  }

  #markShown() {
    const length = this.#state?.episodes.length ?? 0;
    const episode = this.#state?.episodes.at(this.#shown);
    this.#shownMark.replaceChildren(...(this.#plot && episode ? cursor(this.#plot, episode, "shown") : []));
    setAttributes(this.#host, {
      "aria-valuemin": Math.min(1, length),
      "aria-valuemax": length,
      "aria-valuenow": this.#shown + 1,
      "aria-valuetext": episode ? this.#describe(this.#shown).join(", ") : "no episode yet",
    });
  }

  /**
   * @param {number} index
   * @returns {string[]}
   */
  #describe(index) {
    const episode = this.#state?.episodes.at(index);
    if (!episode) {
      return [];
    }
    return [
      `Episode ${formatCount(episode.episode)}: ${formatTime(episode.stepTimeUs, 4)}`,
      ...(episode.feasible ? [] : ["does not fit in memory"]),
      `best so far ${formatTime(episode.bestStepTimeUs, 4)}`,
      `${counted(episode.evaluations, "evaluation")} after ${formatDuration(episode.elapsedSeconds)}`,
    ];
  }

  /** @param {PointerEvent} event */
  #onPointerMove(event) {
    const index = this.#indexAt(event);
    this.#hover(index);
    if (event.buttons === 1 && index >= 0) {
      this.#onSeek(index);
    }
  }

  /** @param {PointerEvent} event */
  #onPointerDown(event) {
    const index = this.#indexAt(event);
    if (event.button === 0 && index >= 0) {
      this.#onSeek(index);
    }
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const last = (this.#state?.episodes.length ?? 0) - 1;
    const by = KEY_STEPS.get(event.key);
    const ends = new Map([["Home", 0], ["End", last]]);
    const index = by === undefined ? ends.get(event.key) : this.#shown + by * (event.shiftKey ? 10 : 1);
    if (index === undefined || last < 0 || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    this.#onSeek(Math.max(0, Math.min(last, index)));
  }

  /**
   * @param {PointerEvent} event
   * @returns {number} -1 beside the plot
   */
  #indexAt(event) {
    const x = event.clientX - this.#host.getBoundingClientRect().left;
    if (!this.#plot || x < this.#plot.left - 8 || x > this.#plot.right + 8) {
      return -1;
    }
    return nearestEpisode(this.#state?.episodes.whole() ?? [], this.#plot.x.toValue(x));
  }

  /** @param {number} index */
  #hover(index) {
    const episode = this.#state?.episodes.at(index);
    if (!this.#plot || !episode) {
      this.#hoverMark.replaceChildren();
      this.#tip.hidden = true;
      return;
    }
    this.#hoverMark.replaceChildren(...cursor(this.#plot, episode, "hover"));
    const [title, ...lines] = this.#describe(index);
    this.#tip.replaceChildren(element("strong", {}, title), ...lines.map((line) => element("span", {}, line)));
    this.#tip.hidden = false;
    const x = this.#plot.x.toPixel(episode.episode);
    const toTheLeft = x > (this.#plot.left + this.#plot.right) / 2;
    const shift = toTheLeft ? x - 12 - this.#tip.offsetWidth : x + 12;
    this.#tip.style.transform = `translate(${Math.round(Math.max(0, shift))}px, ${this.#plot.top + 6}px)`;
  }
}
