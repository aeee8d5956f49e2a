/** The chart of a run: step time of every episode, best so far, baselines and lower bound. */

import { hasEnded } from "../jobs/job-state.js";
import { colour, onThemeChange } from "../ui/colours.js";
import { element, setAttributes, svg } from "../ui/dom.js";
import { drawElements } from "../ui/svg-elements.js";
import { counted, formatCount, formatDuration, formatTime } from "../ui/format.js";
import { axes, ChartFrame, clipped, countAxis, episodePlotArea, stepTimeAxis } from "./chart-frame.js";
import { runningMean } from "./decimate.js";
import { EpisodeGestures } from "./episode-gestures.js";
import { baselines, cursor, curves, drawPoints, MEAN_WINDOW, seedBand } from "./run-chart-drawing.js";
import { chartModel, episodeRange, nearestEpisode, shownPart } from "./run-chart-model.js";
import { linearScale, logScale } from "./scale.js";
import { bandOnEpisodes, leastIn } from "./seed-band.js";

/** @typedef {import("../run/run-state.js").RunState} RunState */

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
  #axis;
  #methodLabels;
  #onSeek;
  #canvas = element("canvas", { "aria-hidden": "true" });
  #shownMark = svg("g");
  #hoverMark = svg("g");
  #tip = element("div", { class: "tip", hidden: true, "aria-hidden": "true" });
  #gestures;
  /** @type {RunState | null} */
  #state = null;
  /** @type {{ episodes: RunState["episodes"] | null, mean: number[] }} the running mean, and of which episodes it is */
  #mean = { episodes: null, mean: [] };
  #shown = -1;
  #isMarked = true;
  #logarithmic = false;
  /** @type {import("../jobs/comparison-state.js").Band | null} over the seeds */
  #band = null;
  /** @type {import("./chart-frame.js").Plot | null} */
  #plot = null;
  #frame;

  /**
   * @param {HTMLElement} host
   * @param {import("./episode-axis.js").EpisodeAxis} axis
   * @param {Record<string, string>} methodLabels method → label
   * @param {(index: number) => void} onSeek called at a click or a key
   */
  constructor(host, axis, methodLabels, onSeek) {
    this.#host = host;
    this.#axis = axis;
    this.#methodLabels = methodLabels;
    this.#onSeek = onSeek;
    this.#frame = new ChartFrame(host, (width, height) => this.#draw(width, height));
    host.prepend(this.#canvas);
    host.append(this.#tip);
    setAttributes(host, { role: "slider", tabindex: 0, "aria-label": "Episode in the chart", "aria-orientation": "horizontal" });
    onThemeChange(() => this.#frame.redrawSoon()); // a canvas keeps its old colours
    this.#gestures = new EpisodeGestures(host, axis, () => this.#plot, (number) => onSeek(this.#nearest(number)));
    host.addEventListener("keydown", (event) => this.#onKey(event));
    axis.onChange(() => this.#frame.redrawSoon());
    axis.onPoint(() => this.#hover());
    Object.assign(host, { episodeAxis: axis }); // for tests
  }

  /**
   * @param {RunState} state
   * @param {number} shown index of the episode where keys begin, -1 for none
   * @param {boolean} isMarked whether its placement is shown
   */
  update(state, shown, isMarked) {
    this.#isMarked = isMarked;
    if (state !== this.#state) {
      this.#state = state;
      this.#axis.setWhole(episodeRange(state.episodes.whole()));
      this.#frame.redrawSoon();
    }
    if (shown !== this.#shown) {
      this.#shown = shown;
      if (this.shownNumber !== undefined) {
        this.#axis.revealEpisode(this.shownNumber);
      }
    }
    this.#markShown();
  }

  /** @returns {number | undefined} the number of the episode shown */
  get shownNumber() {
    return this.#state?.episodes.at(this.#shown)?.episode;
  }

  /** @param {import("../jobs/comparison-state.js").Band | null} band over the seeds; null: none */
  setBand(band) {
    this.#band = band;
    this.#frame.redrawSoon();
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
    const episodes = this.#state?.episodes.whole() ?? [];
    const part = shownPart(episodes, this.#axis.domain);
    const band = this.#band && bandOnEpisodes(this.#band, episodes);
    const least = band ? leastIn(band, this.#axis.domain) : [];
    const model = this.#state && chartModel(this.#state, this.#logarithmic, this.#methodLabels, part, least);
    const context = this.#sizeCanvas(width, height);
    if (!this.#state || !model) {
      this.#plot = null;
      this.#markShown();
      return this.#emptyWords();
    }
    const { area, beside } = episodePlotArea(width, height);
    const plot = this.#plotOf(area, model.rangeUs);
    this.#plot = plot;
    if (context) {
      this.#drawPoints(context, plot);
    }
    this.#markShown();
    this.#hover();
    return [
      ...axes(plot, countAxis(plot, "episode"), stepTimeAxis(plot, this.#logarithmic, model.bestUs, this.#host.dataset.quantity)),
      clipped(plot, [...(band ? seedBand(plot, band) : []), ...curves(plot, episodes, this.#meanOf(this.#state), part)]),
      ...baselines(plot, beside, model.lines),
      this.#gestures.mark,
      this.#shownMark,
      this.#hoverMark,
    ];
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {import("./chart-frame.js").Plot} plot
   */
  #drawPoints(context, plot) {
    const episodes = this.#state?.episodes.whole() ?? [];
    const colours = { feasible: colour("--chart-point"), infeasible: colour("--danger") };
    drawPoints(context, plot, episodes.slice(...shownPart(episodes, this.#axis.domain)), colours);
  }

  /** @param {import("../ui/svg-elements.js").Surface} surface with the size of the host */
  drawOn(surface) {
    const picture = this.#host.querySelector("svg");
    if (this.#plot && picture) {
      this.#drawPoints(/** @type {CanvasRenderingContext2D} */ (surface), this.#plot);
      drawElements(surface, picture);
    }
  }

  /**
   * @param {RunState} state
   * @returns {number[]} the running mean at each episode
   */
  #meanOf({ episodes }) {
    if (this.#mean.episodes !== episodes) {
      this.#mean = { episodes, mean: runningMean(episodes.whole().map(({ stepTimeUs }) => stepTimeUs), MEAN_WINDOW) };
    }
    return this.#mean.mean;
  }

  #emptyWords() {
    return this.#state && hasEnded(this.#state.status)
      ? "No episode was evaluated."
      : "Each episode appears here as a point once it is evaluated.";
  }

  /**
   * @param {import("./chart-frame.js").Area} area
   * @param {readonly [number, number]} rangeUs
   * @returns {import("./chart-frame.js").Plot}
   */
  #plotOf(area, rangeUs) {
    const scale = this.#logarithmic ? logScale : linearScale;
    return {
      ...area,
      x: linearScale(this.#axis.domain, [area.left + 4, area.right - 4]),
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
    const episodes = this.#state?.episodes;
    const episode = episodes?.at(this.#shown);
    if (!this.#frame.isStale || !this.#plot) { // the next picture has another scale, and marks the episode itself
      this.#shownMark.replaceChildren(...(this.#plot && episode && this.#isMarked ? cursor(this.#plot, episode, "shown") : []));
    }
    setAttributes(this.#host, {
      "aria-valuemin": episodes?.at(0)?.episode ?? 0,
      "aria-valuemax": episodes?.last?.episode ?? 0,
      "aria-valuenow": episode?.episode ?? 0,
      "aria-valuetext": this.#shownWords(episode),
    });
  }

  /** @param {import("../run/run-state.js").Episode | undefined} episode where keys begin */
  #shownWords(episode) {
    const words = episode ? this.#describe(this.#shown).join(", ") : "no episode yet";
    return this.#isMarked ? words : `another placement is shown; ${words}`;
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

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const last = (this.#state?.episodes.length ?? 0) - 1;
    const by = KEY_STEPS.get(event.key);
    const ends = new Map([["Home", 0], ["End", last]]);
    const index = by === undefined ? ends.get(event.key) : this.#shown + by * (event.shiftKey ? 10 : 1);
    if (last < 0 || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    if (index !== undefined) {
      this.#onSeek(Math.max(0, Math.min(last, index)));
    } else if (!this.#gestures.onKey(event, this.shownNumber)) {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * @param {number} number
   * @returns {number} the index of the episode nearest to it, -1 without one
   */
  #nearest(number) {
    return nearestEpisode(this.#state?.episodes.whole() ?? [], number);
  }

  /** Mark the episode that the pointer is on, here or in another chart. */
  #hover() {
    const number = this.#axis.pointed;
    const index = number === null ? -1 : this.#nearest(number);
    const episode = this.#state?.episodes.at(index);
    const marks = this.#plot && episode ? cursor(this.#plot, episode, "hover") : [];
    this.#hoverMark.replaceChildren(...marks);
    this.#tip.hidden = marks.length === 0;
    if (!this.#plot || !episode || marks.length === 0) {
      return;
    }
    const [title, ...lines] = this.#describe(index);
    this.#tip.replaceChildren(element("strong", {}, title), ...lines.map((line) => element("span", {}, line)));
    const x = this.#plot.x.toPixel(episode.episode);
    const toTheLeft = x > (this.#plot.left + this.#plot.right) / 2;
    const shift = toTheLeft ? x - 12 - this.#tip.offsetWidth : x + 12;
    this.#tip.style.transform = `translate(${Math.round(Math.max(0, shift))}px, ${this.#plot.top + 6}px)`;
  }
}
