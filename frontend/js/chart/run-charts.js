/** The charts of a run, on one axis of episodes, with their legend and tools. */

import { find, setText } from "../ui/dom.js";
import { getJson } from "../ui/server.js";
import { EpisodeAxis } from "./episode-axis.js";
import { ZOOM_STEP } from "./episode-gestures.js";
import { LearningChart } from "./learning-chart.js";
import { RunChart } from "./run-chart.js";
import { bandWords } from "./seed-band.js";
import { chartLegend } from "./run-chart-legend.js";

export class RunCharts {
  #axis = new EpisodeAxis();
  #stepTimes;
  #learning;
  #learningPart;
  #legend;
  #bandWords;
  #methodLabels;
  #onShow;
  /** @type {{ state: import("../run/run-state.js").RunState, shown: number } | null} */
  #newest = null;

  /**
   * @param {HTMLElement} root with the parts `chart`, `chart-legend`, `chart-tools`, `band-words` and `learning`
   * @param {Record<string, string>} methodLabels method → label
   * @param {import("../run/store.js").Store<import("../run/page-state.js").PageState>} store
   * @param {import("../run/shown-placement.js").ShownPlacement} shown
   * @param {(index: number) => void} onSeek called with the index of the episode to show
   */
  constructor(root, methodLabels, store, shown, onSeek) {
    this.#onShow = (/** @type {string} */ token) => shown.goTo(token);
    this.#methodLabels = methodLabels;
    this.#legend = find(root, "[data-part=chart-legend]", HTMLElement);
    this.#stepTimes = new RunChart(find(root, "[data-part=chart]", HTMLElement), this.#axis, methodLabels, onSeek);
    this.#learningPart = find(root, "[data-part=learning]", HTMLDetailsElement);
    const [curves, readout] = ["learning-chart", "learning-readout"].map((name) => find(root, `[data-part=${name}]`, HTMLElement));
    this.#learningPart.addEventListener("toggle", () => this.#showLearning());
    this.#learning = new LearningChart(curves, readout, this.#axis, onSeek);
    this.#bandWords = find(root, "[data-part=band-words]", HTMLElement);
    this.#listen(find(root, "[data-part=chart-tools]", HTMLElement));
    store.subscribe(["run", "placed"], ({ run }) => run && this.#update(run, shown.playerIndex, shown.episodeIndex >= 0));
  }

  /**
   * @param {import("../run/run-state.js").RunState} state
   * @param {number} player index of the episode where the player is, -1 for none
   * @param {boolean} isShown whether its placement is shown: no other one is marked
   */
  #update(state, player, isShown) {
    this.#stepTimes.update(state, player, isShown);
    const shown = isShown ? player : -1;
    this.#learningPart.hidden = state.updates.length === 0;
    this.#newest = { state, shown };
    this.#showLearning();
    chartLegend(this.#legend, state, this.#methodLabels, this.#onShow);
  }

  /** The curves of a part that is folded away would only take the time of the others. */
  #showLearning() {
    if (this.#learningPart.open && !this.#learningPart.hidden && this.#newest) {
      this.#learning.update(this.#newest.state, this.#newest.shown);
    }
  }

  /** @param {import("../ui/svg-elements.js").Surface} surface for the chart of step times */
  drawOn(surface) {
    this.#stepTimes.drawOn(surface);
  }

  /** @param {boolean} isWanted */
  async #showBand(isWanted) {
    this.#stepTimes.setBand(null);
    setText(this.#bandWords, isWanted ? "Looking for runs with other seeds…" : "");
    if (!isWanted) {
      return;
    }
    try {
      const answer = /** @type {import("./seed-band.js").SeedBand} */ (await getJson("band.json"));
      setText(this.#bandWords, bandWords(answer));
      this.#stepTimes.setBand(answer.seeds.length < 2 ? null : answer.band);
    } catch (error) {
      setText(this.#bandWords, `The band cannot be shown: ${error instanceof Error ? error.message : error}`);
    }
  }

  /** @param {HTMLElement} tools */
  #listen(tools) {
    const logarithmic = find(tools, "[data-part=logarithmic]", HTMLInputElement);
    logarithmic.addEventListener("change", () => this.#stepTimes.setLogarithmic(logarithmic.checked));
    const band = find(tools, "[data-part=band]", HTMLInputElement);
    band.addEventListener("change", () => this.#showBand(band.checked));
    /** @type {Record<string, () => void>} */
    const acts = {
      "zoom-in": () => this.#axis.zoom(ZOOM_STEP, this.#stepTimes.shownNumber),
      "zoom-out": () => this.#axis.zoom(1 / ZOOM_STEP),
      fit: () => this.#axis.fit(),
    };
    for (const [name, act] of Object.entries(acts)) {
      find(tools, `[data-chart-tool=${name}]`, HTMLButtonElement).addEventListener("click", act);
    }
  }
}
