/** What the page says of the shown placement: its sentence, the loads of the devices, and what its step time is worth. */

import { DeviceLegend } from "../graph/device-legend.js";
import { deviceLooks } from "../graph/devices.js";
import { crossingWords, loads } from "../graph/placement.js";
import { placementOfToken, rivalsOf } from "../run/placements.js";
import { find, setText } from "../ui/dom.js";
import { verdict } from "./verdict.js";

export class ShownNumbers {
  #root;
  #graph;
  #devices;
  #looks;
  #methodLabels;
  #store;
  #shown;
  #legend;
  #groupName;
  #isStream;

  /**
   * @param {HTMLElement} root with the parts `devices`, `shown` and `verdict`
   * @param {import("../ui/contracts.js").GroupGraph} graph
   * @param {readonly import("../ui/contracts.js").Device[]} devices
   * @param {Record<string, string>} methodLabels method → label
   * @param {import("./step-state.js").StepStore} store
   * @param {import("../run/shown-placement.js").ShownPlacement} shown
   * @param {(op: number) => string} groupName the name of an op's group
   * @param {boolean} isStream whether the run's times are periods of a stream, and a step is one micro-batch by itself
   */
  constructor(root, graph, devices, methodLabels, store, shown, groupName, isStream) {
    this.#root = root;
    this.#graph = graph;
    this.#devices = devices;
    this.#looks = deviceLooks(devices);
    this.#methodLabels = methodLabels;
    this.#store = store;
    this.#shown = shown;
    this.#groupName = groupName;
    this.#isStream = isStream;
    this.#legend = new DeviceLegend(this.#part("devices"), devices, this.#looks);
    store.subscribe(["step"], ({ step }) => this.#legend.showPeaks(step && step.texts.peaks.map(({ bytes }) => bytes)));
    store.subscribe(["placed", "step", "kept"], () => this.#draw());
  }

  #draw() {
    const { base, placement, trial, sentence, isLive } = this.#shown;
    const { step, facts } = this.#store.state;
    const known = trial ? null : (base?.stepTimeUs ?? null);
    const stepTimeUs = known ?? (this.#isStream ? null : step?.stepTimeUs) ?? null; // of a placement by hand no period is known
    this.#legend.show(placement && loads(this.#graph.groups, this.#devices, placement, facts?.parts), stepTimeUs);
    setText(this.#part("shown"), placement ? `${sentence} ${crossingWords(this.#graph.edges, placement, step?.cuts ?? null)}` : "");
    const words = isLive ? this.#liveVerdict() : stepTimeUs === null ? "" : this.#verdict(stepTimeUs);
    setText(this.#part("verdict"), words);
  }

  /** While each new episode is drawn, what is said is of the best one so far. */
  #liveVerdict() {
    const { run } = this.#store.state;
    const best = run && placementOfToken("best", run, this.#methodLabels);
    return best ? this.#verdictOf(best, "Best so far", null) : "";
  }

  /** @param {number} stepTimeUs */
  #verdict(stepTimeUs) {
    const { base, trial, name } = this.#shown;
    const { step } = this.#store.state;
    const feasible = trial ? (step?.feasible ?? true) : (base?.feasible ?? true);
    return this.#verdictOf({ stepTimeUs, feasible, token: trial ? "" : (base?.token ?? "") }, name, step);
  }

  /**
   * @param {{ stepTimeUs: number | null, feasible: boolean, token: string }} placement
   * @param {string} name
   * @param {import("./step.js").Step | null} step
   */
  #verdictOf({ stepTimeUs, feasible, token }, name, step) {
    const { run } = this.#store.state;
    if (stepTimeUs === null) {
      return "";
    }
    const isSaid = hasAdvice(this.#root) && this.#shown.token === "";
    return verdict({
      name,
      isSaid,
      stepTimeUs,
      feasible,
      rivals: run ? rivalsOf(run, this.#methodLabels, token) : [],
      lowerBoundUs: isSaid && run?.report?.proof ? null : (run?.started?.lower_bound_us ?? null), // a proof has said more
      noun: this.#isStream ? "period" : "step",
      step: this.#isStream ? null : step,
      labels: this.#looks.map(({ label }) => label),
      groupName: this.#groupName,
    });
  }

  /** @param {string} name */
  #part(name) {
    return find(this.#root, `[data-part=${name}]`, HTMLElement);
  }
}

/**
 * @param {HTMLElement} root
 * @returns {boolean} whether the page says what the run came to
 */
function hasAdvice(root) {
  return !find(root, "[data-part=advice-line]", HTMLElement).hidden;
}
