/** The learning curves of a run: panels one above the other, on the axis of episodes of the chart of step times. */

import { element, svg } from "../ui/dom.js";
import { formatCount, NOTHING } from "../ui/format.js";
import { axes, ChartFrame, clipped, countAxis, episodePlotArea, rounded } from "./chart-frame.js";
import { EpisodeGestures } from "./episode-gestures.js";
import { learningPanels, PANELS, PLAIN, updateAt } from "./learning-model.js";
import { cursorLine, showsNumber } from "./run-chart-drawing.js";
import { nearestEpisode } from "./run-chart-model.js";
import { linearScale, linearTicks } from "./scale.js";

/** @typedef {import("../run/run-state.js").RunState} RunState */
/** @typedef {import("./chart-frame.js").Plot} Plot */

const PANEL_HEIGHT = 66;
const ABOVE_PANEL = 24;
const BELOW_PANELS = 40;
const TICKS = 2;

export class LearningChart {
  #host;
  #readout;
  #axis;
  #onSeek;
  #marks = svg("g");
  #gestures;
  #frame;
  /** @type {RunState | null} */
  #state = null;
  #shown = -1;
  /** The update whose numbers are written out. @type {import("../ui/contracts.js").UpdateEvent | null} */
  #written = null;
  /** @type {Plot[]} */
  #plots = [];

  /**
   * @param {HTMLElement} host
   * @param {HTMLElement} readout a list: the numbers at the cursor
   * @param {import("./episode-axis.js").EpisodeAxis} axis
   * @param {(index: number) => void} onSeek called with the index of an episode
   */
  constructor(host, readout, axis, onSeek) {
    this.#host = host;
    this.#readout = readout;
    this.#axis = axis;
    this.#onSeek = onSeek;
    this.#frame = new ChartFrame(host, (width, height) => this.#draw(width, height));
    this.#gestures = new EpisodeGestures(host, axis, () => this.#whole(), (number) => this.#seek(number));
    axis.onChange(() => this.#frame.redrawSoon());
    axis.onPoint(() => this.#mark());
  }

  /**
   * @param {RunState} state
   * @param {number} shown index of the episode shown, -1 for none
   */
  update(state, shown) {
    if (state.updates !== this.#state?.updates) {
      this.#frame.redrawSoon();
    }
    this.#state = state;
    this.#shown = shown;
    this.#mark();
  }

  /**
   * @param {number} width
   * @param {number} height
   * @returns {SVGElement[] | string}
   */
  #draw(width, height) {
    const panels = learningPanels(this.#state?.updates.whole() ?? [], this.#axis.domain);
    const wanted = panels.length * (PANEL_HEIGHT + ABOVE_PANEL) + BELOW_PANELS;
    if (panels.length > 0 && Math.abs(height - wanted) > 1) {
      this.#host.style.height = `${wanted}px`; // the picture is drawn once more in this height
    }
    const { area } = episodePlotArea(width, wanted);
    const x = linearScale(this.#axis.domain, [area.left + 4, area.right - 4]);
    this.#plots = panels.map(({ range }, index) => {
      const top = index * (PANEL_HEIGHT + ABOVE_PANEL) + ABOVE_PANEL;
      return { left: area.left, right: area.right, top, bottom: top + PANEL_HEIGHT, x, y: linearScale(range, [top + PANEL_HEIGHT, top + 4]) };
    });
    this.#mark();
    if (panels.length === 0) {
      return "The curves appear with the first update.";
    }
    return [...panels.flatMap((panel, index) => drawPanel(this.#plots[index], panel, index === panels.length - 1)), this.#gestures.mark, this.#marks];
  }

  /** All panels as one plot, for the pointer. */
  #whole() {
    const [first, last] = [this.#plots[0], this.#plots.at(-1)];
    return first && last ? { ...first, bottom: last.bottom } : null;
  }

  /** @param {number} number */
  #seek(number) {
    const index = nearestEpisode(this.#state?.episodes.whole() ?? [], number);
    if (index >= 0) {
      this.#onSeek(index);
    }
  }

  #mark() {
    const shown = this.#state?.episodes.at(this.#shown)?.episode ?? null;
    const { pointed } = this.#axis;
    const cursors = /** @type {[number | null, string][]} */ ([[shown, "shown"], [pointed, "hover"]]);
    if (!this.#frame.isStale) {
      const marks = cursors.flatMap(([number, kind]) =>
        number === null ? [] : this.#plots.filter((plot) => showsNumber(plot, number)).map((plot) => cursorLine(plot, number, kind)),
      );
      this.#marks.replaceChildren(...marks);
    }
    this.#write(pointed ?? shown);
  }

  /** @param {number | null} number of the episode whose update is written out */
  #write(number) {
    const updates = this.#state?.updates.whole() ?? [];
    const update = (number === null ? null : updateAt(updates, number)) ?? null;
    if (update === this.#written) {
      return;
    }
    this.#written = update;
    if (!update) {
      this.#readout.replaceChildren();
      return;
    }
    const known = [...PANELS, ...PLAIN].flatMap(({ keys, tip }) => keys.filter(([key]) => update[key] !== null).map(([key, label]) => ({ key, label, tip })));
    this.#readout.replaceChildren(
      element("li", {}, "Up to episode", element("b", {}, formatCount(update.episode))),
      ...known.map(({ key, label, tip }) =>
        element("li", { title: tip }, element("i", { class: `key is-${key}`, "aria-hidden": "true" }), label, element("b", {}, valueText(update[key]))),
      ),
    );
  }
}

/**
 * @param {Plot} plot
 * @param {import("./learning-model.js").LearningPanel} panel
 * @param {boolean} isLast which alone has words below its axis
 * @returns {SVGElement[]}
 */
function drawPanel(plot, { title, lines, range }, isLast) {
  const ticks = linearTicks(range, TICKS);
  const across = countAxis(plot, "episode");
  const drawn = lines.map(({ key, points }) => {
    const through = points.map(([episode, value]) => `${rounded(plot.x.toPixel(episode))},${rounded(plot.y.toPixel(value))}`);
    return svg("path", { class: `learning-line is-${key}`, d: `M${through.join("L")}${points.length === 1 ? "h3" : ""}` });
  });
  return [
    ...axes(plot, isLast ? across : { ...across, title: "", words: () => "" }, { title, ticks, words: valueText }),
    clipped(plot, drawn),
  ];
}

/**
 * @param {number | null} value
 * @returns {string}
 */
export function valueText(value) {
  if (value === null) {
    return NOTHING;
  }
  const small = value !== 0 && Math.abs(value) < 1e-3;
  const text = small ? value.toExponential(1) : value.toLocaleString("en", { maximumSignificantDigits: Math.abs(value) < 1000 ? 3 : 6 });
  return text.replace("-", "−");
}
