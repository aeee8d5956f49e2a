/** The page of a run: connects the modules. */

import { Announcer } from "../ui/announcer.js";
import { RunChart } from "../chart/run-chart.js";
import { chartLegend } from "../chart/run-chart-legend.js";
import { confirmDeletion } from "../ui/confirm.js";
import { prefersLessMotion } from "../ui/colours.js";
import { DeviceLegend } from "../graph/device-legend.js";
import { deviceLooks } from "../graph/devices.js";
import { find, setText } from "../ui/dom.js";
import { formatBytes, formatCount, formatTime } from "../ui/format.js";
import { fillNumbers } from "../ui/page-numbers.js";
import { GraphPanel } from "../graph/graph-panel.js";
import { crossing, loads } from "../graph/placement.js";
import { follow } from "../jobs/job-feed.js";
import { hasEnded } from "../jobs/job-state.js";
import { PlayerControls } from "../run/player-controls.js";
import { RunHeader } from "../run/run-header.js";
import { initialState, reduce } from "../run/run-state.js";
import { moveButtons } from "../step/move-buttons.js";
import { StepPanel } from "../step/step-panel.js";
import { TrialBar } from "../step/trial-bar.js";
import { newTrial, placementOf, redo, undo, withMove } from "../step/trial.js";
import { getBytes, getJson, post, showFailure } from "../ui/server.js";

/** The least time between two live updates for a user who prefers less motion. */
const CALM_MILLISECONDS = 2000;

class RunPage {
  #root;
  #run;
  #graph;
  #methodLabels;
  #state;
  #header;
  #chart;
  #player;
  #legend;
  #panel;
  #step;
  #trialBar;
  /** @type {import("../step/trial.js").Trial | null} */
  #trial = null;
  #trials = 0;
  /** @type {import("../step/step.js").Step | null} of the shown placement, once it is known */
  #shownStep = null;
  #announcer;
  #opensAtBest;
  #frame = 0;
  #calmUntil = 0;

  /**
   * @param {HTMLElement} root
   * @param {import("../ui/contracts.js").Run} run
   * @param {import("../ui/contracts.js").GroupGraph} graph
   * @param {Record<string, string>} methodLabels method → label
   */
  constructor(root, run, graph, methodLabels) {
    this.#root = root;
    this.#run = run;
    this.#graph = graph;
    this.#methodLabels = methodLabels;
    this.#state = initialState(run.status, run.error);
    this.#opensAtBest = hasEnded(run.status);
    const looks = deviceLooks(run.devices);
    this.#header = new RunHeader(root, run);
    this.#chart = new RunChart(this.#part("chart"), methodLabels, (index) => this.#player.seek(index));
    this.#player = new PlayerControls(this.#part("player"), () => this.#showEpisode());
    this.#legend = new DeviceLegend(this.#part("devices"), run.devices, looks);
    this.#panel = new GraphPanel(root, graph, run.devices, looks, (group) => this.#step?.chooseGroup(group), (group, device) =>
      device === null ? null : moveButtons(looks, device, this.#gainsOf(group), (to) => this.#move(group, to)));
    const explained = this.#part("step");
    this.#step = new StepPanel(explained, run.devices, graph.groups, String(explained.dataset.ops), {
      onChooseGroup: (group) => this.#panel.choose(group),
      onStep: (step) => this.#onStep(step),
    });
    this.#trialBar = new TrialBar(this.#part("trial"), {
      undo: () => this.#try(undo),
      redo: () => this.#try(redo),
      discard: () => this.#showEpisode(),
    });
    this.#announcer = new Announcer(this.#part("announcer"));
    const logarithmic = find(root, "[data-part=logarithmic]", HTMLInputElement);
    logarithmic.addEventListener("change", () => this.#chart.setLogarithmic(logarithmic.checked));
    this.#part("watch").addEventListener("keydown", (event) => this.#onKey(event) || this.#player.onKey(event));
    this.#listenToCancel();
  }

  start() {
    this.#draw();
    const store = {
      state: () => this.#state,
      /** @param {import("../run/run-state.js").EventsAction | import("../run/run-state.js").StatusAction} action */
      apply: (action) => this.#apply(action),
    };
    follow(store, (connection) => this.#header.showConnection(connection));
    return this.#panel.draw();
  }

  /** @param {import("../run/run-state.js").EventsAction | import("../run/run-state.js").StatusAction} action */
  #apply(action) {
    const before = this.#state;
    this.#state = reduce(before, action);
    if (this.#state === before) {
      return;
    }
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
    const ended = hasEnded(this.#state.status) && !hasEnded(before.status);
    if (!hasEnded(before.status)) {
      this.#announcer.say(this.#header.sentence(this.#state), { urgent: ended });
    }
  }

  #draw() {
    const { episodes, status, bestIndex } = this.#state;
    this.#header.show(this.#state);
    this.#player.update(episodes.length, !hasEnded(status), bestIndex);
    if (this.#opensAtBest && this.#state.lastSeq >= this.#run.last_seq) {
      this.#opensAtBest = false;
      this.#player.act("best");
    }
    this.#chart.update(this.#state, this.#player.shown);
    chartLegend(this.#part("chart-legend"), this.#state, this.#methodLabels);
  }

  #showEpisode() {
    const now = performance.now();
    if (this.#player.following && prefersLessMotion() && now < this.#calmUntil && !hasEnded(this.#state.status)) {
      return;
    }
    this.#calmUntil = now + CALM_MILLISECONDS;
    this.#trial = null;
    this.#showPlacement();
  }

  /** Show the placement of the shown episode, or the one made of it by hand. */
  #showPlacement() {
    const placement = this.#placement;
    this.#chart.update(this.#state, this.#player.shown);
    this.#shownStep = null;
    this.#panel.show(placement);
    this.#step.show(this.#shownOf(placement), this.#player.following && !hasEnded(this.#state.status));
    this.#drawNumbers();
  }

  /** The shown episode; null without one. */
  get #episode() {
    return this.#state.episodes.at(this.#player.shown) ?? null;
  }

  /** The shown placement: that of the episode, or the one made of it by hand. */
  get #placement() {
    return this.#trial ? placementOf(this.#trial) : (this.#episode?.placement ?? null);
  }

  #drawNumbers() {
    const [episode, placement] = [this.#episode, this.#placement];
    const stepTimeUs = this.#trial ? (this.#shownStep?.stepTimeUs ?? null) : (episode?.stepTimeUs ?? null);
    this.#legend.show(placement && loads(this.#graph.groups, this.#run.devices, placement), stepTimeUs);
    this.#trialBar.show(this.#trial, this.#shownStep, episode?.stepTimeUs ?? 0);
    setText(this.#part("shown"), episode ? this.#words(episode) : "");
  }

  /**
   * @param {Uint8Array | null} placement
   * @returns {import("../step/step-panel.js").Shown | null}
   */
  #shownOf(placement) {
    const episode = this.#episode;
    if (!episode || !placement) {
      return null;
    }
    if (!this.#trial) {
      return { key: String(episode.seq), load: () => getBytes(`explanations/${episode.seq}`) };
    }
    this.#trials += 1;
    const load = async () => {
      const answer = await post("step", { placement: [...placement] }, "application/octet-stream");
      return answer.arrayBuffer();
    };
    return { key: `by hand ${this.#trials}`, load, isWanted: true };
  }

  /** @param {import("../step/step.js").Step | null} step */
  #onStep(step) {
    this.#shownStep = step;
    this.#legend.showPeaks(step && step.texts.peaks.map(({ bytes }) => bytes));
    if (step) {
      this.#drawNumbers();
      this.#panel.refreshPanel();
    }
  }

  /**
   * What each move of a group would change. While the shown placement is not known to stay, nothing is asked for.
   *
   * @param {number} group
   * @returns {Promise<import("../step/move-buttons.js").Gains>}
   */
  async #gainsOf(group) {
    const placement = this.#placement;
    if (!this.#shownStep || !placement) {
      return new Promise(() => {});
    }
    const answer = await post("gains.json", { placement: [...placement], groups: [group] }, "application/json");
    const { step_time_us: times, missing_bytes: missing } = await answer.json();
    return { step_time_us: times[0], missing_bytes: missing[0] };
  }

  /**
   * @param {number} group
   * @param {number} device
   */
  #move(group, device) {
    this.#try((trial) => withMove(trial, [group], device));
  }

  /** @param {(trial: import("../step/trial.js").Trial) => import("../step/trial.js").Trial} change */
  #try(change) {
    const episode = this.#episode;
    if (!episode) {
      return;
    }
    const before = this.#trial ?? newTrial(episode.placement);
    const after = change(before);
    if (after !== before) {
      this.#player.pause();
      this.#trial = after;
      this.#showPlacement();
    }
  }

  /**
   * Digits move the chosen group to a device; Ctrl + Z and Ctrl + Y undo and redo.
   *
   * @param {KeyboardEvent} event
   * @returns {boolean} whether it was one of these
   */
  #onKey(event) {
    const target = event.target instanceof Element ? event.target : null;
    if (target?.closest("input, select, textarea") || event.altKey) {
      return false;
    }
    const command = event.ctrlKey || event.metaKey;
    const device = /^[1-9]$/.test(event.key) && !command ? Number(event.key) - 1 : -1;
    /** @type {(() => void) | null} */
    let act = null;
    if (device >= 0 && device < this.#run.devices.length && this.#panel.chosen >= 0) {
      act = () => this.#move(this.#panel.chosen, device);
    } else if (command && this.#trial && ["z", "y", "Z"].includes(event.key)) {
      act = () => this.#try(event.key === "z" ? undo : redo);
    }
    if (act) {
      event.preventDefault();
      act();
    }
    return act !== null;
  }

  /** @param {import("../run/run-state.js").Episode} episode */
  #words(episode) {
    if (this.#trial) {
      return `By hand, from episode ${formatCount(episode.episode)}. ${this.#crossingWords(placementOf(this.#trial))}`;
    }
    const fits = episode.feasible ? "" : ", does not fit in memory";
    const time = formatTime(episode.stepTimeUs, 4);
    return `Episode ${formatCount(episode.episode)}: ${time}${fits}. ${this.#crossingWords(episode.placement)}`;
  }

  /** @param {Uint8Array} placement */
  #crossingWords(placement) {
    const { edges, bytes } = crossing(this.#graph.edges, placement);
    return `${formatCount(edges)} of ${formatCount(this.#graph.edges.length)} edges cross devices (${formatBytes(bytes)}).`;
  }

  #listenToCancel() {
    const form = find(this.#root, "[data-part=cancel]", HTMLFormElement);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const button = find(form, "button", HTMLButtonElement);
      button.disabled = true;
      setText(button, "Cancelling…");
      try {
        const answer = await fetch(form.action, { method: "POST", body: new FormData(form), redirect: "manual" });
        if (answer.type !== "opaqueredirect" && !answer.ok) {
          throw new Error(`the server answered ${answer.status}`);
        }
      } catch {
        button.disabled = false;
        setText(button, "Cancel run");
        this.#announcer.say("The run could not be cancelled. Try again.", { urgent: true });
      }
    });
  }

  /** @param {string} name */
  #part(name) {
    return find(this.#root, `[data-part=${name}]`, HTMLElement);
  }
}

async function main() {
  const root = find(document, "[data-page=run]", HTMLElement);
  fillNumbers(document);
  confirmDeletion(document);
  const run = /** @type {import("../ui/contracts.js").Run} */ (JSON.parse(find(document, "#run", HTMLScriptElement).text));
  const methodLabels = JSON.parse(find(document, "#method-labels", HTMLScriptElement).text);
  setText(find(root, "[data-part=cluster]", HTMLElement), JSON.stringify(run.cluster, null, 1));
  try {
    const graph = /** @type {import("../ui/contracts.js").GroupGraph} */ (await getJson("graph.json"));
    await new RunPage(root, run, graph, methodLabels).start();
  } catch (error) {
    showFailure(find(root, "[data-part=chart]", HTMLElement), "The run cannot be shown.", error, () => location.reload());
    throw error;
  }
}

main();
