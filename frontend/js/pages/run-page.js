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
import { getJson, showFailure } from "../ui/server.js";
import { StepPanel } from "../step/step-panel.js";

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
    this.#panel = new GraphPanel(root, graph, run.devices, looks, (group) => this.#step?.chooseGroup(group));
    const addresses = { ops: run.urls.ops, explanation: (/** @type {number} */ seq) => `explanations/${seq}` };
    this.#step = new StepPanel(this.#part("step"), run.devices, graph.groups, addresses, {
      onChooseGroup: (group) => this.#panel.choose(group),
      onStep: (step) => this.#legend.showPeaks(step && step.texts.peaks.map(({ bytes }) => bytes)),
    });
    this.#announcer = new Announcer(this.#part("announcer"));
    const logarithmic = find(root, "[data-part=logarithmic]", HTMLInputElement);
    logarithmic.addEventListener("change", () => this.#chart.setLogarithmic(logarithmic.checked));
    this.#part("watch").addEventListener("keydown", (event) => this.#player.onKey(event));
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
    const episode = this.#state.episodes.at(this.#player.shown);
    const placement = episode?.placement ?? null;
    this.#chart.update(this.#state, this.#player.shown);
    this.#panel.show(placement);
    this.#step.show(episode?.seq ?? 0, this.#player.following && !hasEnded(this.#state.status));
    this.#legend.show(
      placement && loads(this.#graph.groups, this.#run.devices, placement),
      episode?.stepTimeUs ?? null,
    );
    setText(this.#part("shown"), episode ? this.#words(episode) : "");
  }

  /** @param {import("../run/run-state.js").Episode} episode */
  #words(episode) {
    const { edges, bytes } = crossing(this.#graph.edges, episode.placement);
    const fits = episode.feasible ? "" : ", does not fit in memory";
    const sent = `${formatCount(edges)} of ${formatCount(this.#graph.edges.length)} edges cross devices (${formatBytes(bytes)})`;
    return `Episode ${formatCount(episode.episode)}: ${formatTime(episode.stepTimeUs, 4)}${fits}. ${sent}.`;
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
