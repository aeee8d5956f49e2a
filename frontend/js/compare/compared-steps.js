/** The timelines of two placements, one above the other, on one axis of time and with one selection. */

import { placeOf } from "../step/chain-list.js";
import { NONE } from "../step/step.js";
import { TimeAxis } from "../step/time-axis.js";
import { TimelineView } from "../step/timeline-view.js";
import { element, setText } from "../ui/dom.js";
import { cutName, formatTime } from "../ui/format.js";

/** @typedef {import("../step/step.js").Step} Step */

/**
 * @typedef {object} Ops what the page knows of the ops
 * @property {(op: number) => string} groupName
 * @property {(op: number) => string} opName
 * @property {(op: number) => number} groupOf -1: not known yet
 * @property {ArrayLike<number>} groupOfOp [ops] known once a step is
 */

export class ComparedSteps {
  #axis = new TimeAxis();
  #looks;
  #ops;
  #onChooseGroup;
  #pairs;
  #words = element("p", { class: "hint step-chosen name", "aria-live": "polite" });
  #op = NONE;
  #group = -1;

  /**
   * @param {HTMLElement} host
   * @param {readonly import("../graph/devices.js").DeviceLook[]} looks
   * @param {Ops} ops
   * @param {(group: number) => void} onChooseGroup -1 for none
   */
  constructor(host, looks, ops, onChooseGroup) {
    this.#looks = looks;
    this.#ops = ops;
    this.#onChooseGroup = onChooseGroup;
    this.#pairs = ["Compared", "Shown"].map((name) => this.#makePair(name));
    const help = "Both have one axis of time; a dashed line is the end of a step. Drag to pan, Ctrl + wheel to zoom, double-click for all.";
    host.replaceChildren(...this.#pairs.flatMap(({ title, stage }) => [title, stage]), this.#words, element("p", { class: "graph-help" }, help));
    Object.assign(host, { timeAxis: this.#axis }); // for tests
  }

  /**
   * @param {Step} before of the compared placement
   * @param {Step} after of the shown one
   * @param {readonly [string, string]} words of both placements
   */
  show(before, after, words) {
    this.#axis.setLength(Math.max(before.stepTimeUs, after.stepTimeUs));
    [before, after].forEach((step, index) => {
      const pair = this.#pairs[index];
      pair.step = step;
      setText(pair.title, `${pair.name}: ${words[index]}, ${formatTime(step.stepTimeUs, 4)}`);
      pair.stage.setAttribute("aria-label", `Timeline of ${words[index]}, ${formatTime(step.stepTimeUs, 4)}. The tables below have what differs.`);
      pair.view.show(step, (op) => this.#ops.groupName(op));
    });
    this.#mark();
  }

  /** @param {number} group that another view has chosen, -1 for none */
  choose(group) {
    if (group !== this.#group) {
      this.#group = group;
      this.#op = NONE;
      this.#mark();
    }
  }

  /** @param {string} name */
  #makePair(name) {
    const stage = element("div", { class: "timeline", role: "img", tabindex: 0 });
    const title = element("h3", { class: "name" });
    /** @type {{ name: string, title: HTMLElement, stage: HTMLElement, view: TimelineView, step: Step | null }} */
    const pair = {
      name,
      title,
      stage,
      step: null,
      view: new TimelineView(stage, this.#axis, this.#looks, {
        onChoose: (activity) => this.#choose(activity, pair.step),
        onHover: () => {},
      }),
    };
    Object.assign(stage, { timelineView: pair.view }); // for tests
    return pair;
  }

  /**
   * @param {number} activity or `NONE`
   * @param {Step | null} step whose activity it is
   */
  #choose(activity, step) {
    this.#op = activity === NONE || !step ? NONE : step.opOf(activity);
    this.#group = this.#op === NONE ? -1 : this.#ops.groupOf(this.#op);
    this.#mark();
    this.#onChooseGroup(this.#group);
  }

  #mark() {
    const [op, group] = [this.#op, this.#group];
    for (const { view, step } of this.#pairs) {
      const isChosen = (/** @type {number} */ activity) => {
        const of = step?.opOf(activity) ?? NONE;
        return op === NONE ? group >= 0 && this.#ops.groupOf(of) === group : of === op;
      };
      view.choose(op, isChosen);
    }
    setText(this.#words, op === NONE ? "" : this.#opWords(op));
  }

  /** @param {number} op */
  #opWords(op) {
    const places = this.#pairs.map(({ name, step }) => {
      const [start, end] = step?.span(op) ?? [NaN, NaN];
      const where = step ? placeOf(step, op, this.#looks.map(({ label }) => label)) : "";
      return `${name.toLowerCase()}: ${where}, from ${formatTime(start, 4)} for ${formatTime(end - start)}`;
    });
    return `${cutName(this.#ops.groupName(op), 80)} · ${places.join(" · ")}`;
  }
}
