/** The panel that explains one step of the shown placement: timeline, memory, critical chain, what is held at the peak. */

import { deviceLooks } from "../graph/devices.js";
import { choice, chosenGroup } from "../run/page-state.js";
import { element, find, setText } from "../ui/dom.js";
import { counted, cutName, formatBytes, formatShare, formatTime } from "../ui/format.js";
import { LONGEST_TITLE, shownName, shownNames } from "../ui/names.js";
import { getJson, isRefusal, showFailure } from "../ui/server.js";
import { SettledTimer } from "../ui/settled-timer.js";
import { ChainList, placeOf } from "./chain-list.js";
import { deviceTable } from "./device-table.js";
import { MemoryView } from "./memory-view.js";
import { nodeFacts } from "./node-facts.js";
import { OpList } from "./op-list.js";
import { peakLists } from "./peak-list.js";
import { NONE, Step } from "./step.js";
import { boundSentence, IDLE_CAUSES, stepSentence } from "./step-words.js";
import { TimeAxis } from "./time-axis.js";
import { TimelineView } from "./timeline-view.js";
import { Tip } from "../ui/tip.js";

/** @typedef {import("./step.js").OpNames} OpNames */

/**
 * @typedef {object} Shown a placement to explain
 * @property {string} key equal for equal placements
 * @property {() => Promise<ArrayBuffer>} load
 * @property {boolean} [isWanted] whether a person has just made it, so that it is explained at once
 */

/** An episode is explained once it has been shown for so long: not while the player runs past it. */
const SETTLED_MILLISECONDS = 250;
/** The least time between two explanations of a run that is followed live. */
const LIVE_MILLISECONDS = 3000;

export class StepPanel {
  #root;
  #page;
  #looks;
  #groups;
  #opsAddress;
  #store;
  #axis = new TimeAxis();
  #timeline;
  #memory;
  #chain;
  #list;
  #tip = new Tip();
  /** @type {Promise<OpNames> | null} */
  #names = null;
  /** @type {OpNames | null} */
  #ops = null;
  /** @type {Step | null} */
  #step = null;
  /** @type {Shown | null} */
  #shown = null;
  #timer = new SettledTimer();
  #loadedAt = -Infinity;
  /** Counts the loads: only the answer of the last one is drawn. */
  #loads = 0;
  #following = false;
  /** The chosen bar: of the chosen op, or of a transfer of what it gives. */
  #chosen = NONE;

  /**
   * @param {HTMLElement} root the section of the timeline
   * @param {HTMLElement} page with `[data-step=…]`
   * @param {readonly import("../ui/contracts.js").Device[]} devices
   * @param {readonly import("../ui/contracts.js").Group[]} groups
   * @param {string} opsAddress of `ops.json`
   * @param {import("./step-state.js").StepStore} store
   * @param {import("./explanations.js").Explanations} explanations
   */
  constructor(root, page, devices, groups, opsAddress, store, explanations) {
    this.#root = root;
    this.#page = page;
    this.#looks = deviceLooks(devices);
    this.#groups = groups;
    this.#opsAddress = opsAddress;
    this.#store = store;
    const stage = this.#part("timeline");
    this.#timeline = new TimelineView(stage, this.#axis, this.#looks, {
      onChoose: (activity) => this.#choose(activity),
      onHover: (target) => this.#hover(target),
    });
    this.#memory = new MemoryView(this.#part("memory"), this.#axis, this.#looks);
    this.#chain = new ChainList(this.#part("chain"), this.#labels, (activity) => this.#choose(activity));
    this.#list = new OpList(this.#part("ops"), this.#labels, (op) => this.#choose(op));
    stage.after(this.#tip.element);
    Object.assign(stage, { timelineView: this.#timeline, timeAxis: this.#axis }); // for tests
    this.#listenToTools();
    store.subscribe(["placed"], ({ placed }) => this.#show(placed && explanations.ofShown(placed), Boolean(placed?.isLive)));
    store.subscribe(["groups", "op"], (state) => this.#showChosen(state));
  }

  /**
   * Explain a placement, once it has been shown for long enough. Of a run that is followed, the newest placement is
   * explained every few seconds.
   *
   * @param {Shown | null} shown null: there is none yet
   * @param {boolean} following
   */
  #show(shown, following) {
    this.#following = following;
    if (shown?.key === this.#shown?.key) {
      return;
    }
    this.#shown = shown;
    this.#root.dataset.state = shown ? "loading" : "empty";
    if (following && this.#timer.waits) {
      return;
    }
    const rest = following ? LIVE_MILLISECONDS - (performance.now() - this.#loadedAt) : 0;
    this.#timer.start(Math.max(shown?.isWanted ? 0 : SETTLED_MILLISECONDS, rest), () => this.#load(this.#shown));
  }

  /** @returns {{ timeline: TimelineView, memory: MemoryView }} what it draws, for pictures */
  get drawings() {
    return { timeline: this.#timeline, memory: this.#memory };
  }

  /** @returns {Promise<OpNames>} */
  #loadNames() {
    if (!this.#names) {
      this.#names = /** @type {Promise<OpNames>} */ (getJson(this.#opsAddress));
      this.#names.then((ops) => (this.#ops = ops), () => (this.#names = null)); // after a failure the next one asks again
    }
    return this.#names;
  }

  /** @returns {Promise<import("./finder.js").OpNamesAndGroups>} */
  async opNames() {
    const ops = await this.#loadNames();
    return { names: shownNames(ops), whole: ops.names, groups: ops.groups };
  }

  /** @param {import("./step-state.js").StepState} state */
  #showChosen({ op }) {
    if (op < 0) {
      this.#chosen = NONE;
    } else if (this.#step && op !== this.#step.opOf(this.#chosen)) {
      this.#chosen = op;
      this.#axis.reveal(this.#step.span(op));
    }
    this.#mark();
  }

  /**
   * Of a run that is followed, an answer counts even if a later event is shown by then.
   *
   * @param {Shown | null} shown
   */
  async #load(shown) {
    if (!shown) {
      return;
    }
    this.#loads += 1;
    const load = this.#loads;
    this.#loadedAt = performance.now();
    try {
      const [ops, bytes] = await Promise.all([this.#loadNames(), shown.load()]);
      if (load === this.#loads && (shown.key === this.#shown?.key || this.#following)) {
        this.#ops = ops;
        this.#step = new Step(bytes);
        this.#draw(shown);
      }
    } catch (error) {
      if (shown.key === this.#shown?.key) {
        this.#root.dataset.state = "failed";
        if (isRefusal(error)) {
          this.#part("failure").replaceChildren(element("p", { class: "hint", role: "status" }, error.message));
        } else {
          showFailure(this.#part("failure"), "This step cannot be explained.", error, () => this.#load(shown));
        }
      }
    }
  }

  /** @param {Shown} shown */
  #draw(shown) {
    const step = /** @type {Step} */ (this.#step);
    this.#root.dataset.state = "ready";
    this.#root.dataset.shown = shown.key;
    this.#part("failure").replaceChildren();
    this.#chosen = NONE;
    this.#axis.setLength(step.stepTimeUs);
    this.#timeline.show(step, (op) => this.groupName(op));
    this.#memory.show(step);
    this.#chain.show(step, (op) => this.opName(op), (op) => this.wholeName(op));
    this.#list.show(step, /** @type {OpNames} */ (this.#ops), (op) => this.groupName(op));
    setText(this.#part("sentence"), stepSentence(step));
    setText(this.#part("bound"), boundSentence(step));
    this.#part("timeline").setAttribute("aria-label", this.#timelineLabel(step));
    this.#part("devices").replaceChildren(...deviceTable(step, this.#looks));
    const lists = peakLists(step, this.#looks, (op) => this.opName(op), (op) => this.wholeName(op), (activity) => this.#choose(activity));
    this.#part("peaks").replaceChildren(...lists);
    this.#mark();
    const isShown = shown.key === this.#shown?.key;
    this.#store.set({ step: isShown ? step : null, facts: isShown ? nodeFacts(step, this.groupOfOp, this.#groups.length) : null });
  }

  /** @param {Step} step */
  #timelineLabel(step) {
    const bars = `${counted(step.opCount, "op")} and ${counted(step.transferCount, "transfer")}`;
    return `Timeline of one step of ${formatTime(step.stepTimeUs, 4)}: ${bars}. The list of the critical chain has its longest parts. Arrow keys pan, plus and minus zoom, 0 shows all of it, brackets go from bar to bar.`;
  }

  /** @param {number} op chosen by a person in another part of the page */
  chooseOp(op) {
    this.#choose(op);
  }

  /** @param {number} activity or `NONE` */
  #choose(activity) {
    const step = this.#step;
    const op = activity === NONE || !step ? -1 : step.opOf(activity);
    this.#chosen = activity;
    if (step && activity !== NONE) {
      this.#axis.reveal(step.span(activity));
    }
    this.#mark(); // the store knows no transfers
    this.#store.set({ ...choice(this.#store.state, [this.groupOf(op)]), op });
  }

  #mark() {
    const step = this.#step;
    if (!step) {
      return;
    }
    const group = chosenGroup(this.#store.state);
    const isChosen = (/** @type {number} */ activity) =>
      this.#chosen === activity || (this.#chosen === NONE && group >= 0 && this.groupOf(step.opOf(activity)) === group);
    this.#timeline.choose(this.#chosen, isChosen);
    this.#list.choose(this.#chosen !== NONE && !step.isTransfer(this.#chosen) ? this.#chosen : -1);
    this.#part("chosen-words").replaceChildren(...(this.#chosen === NONE ? [] : this.#activityFacts(step, this.#chosen)));
  }

  /**
   * What is said of a chosen bar beside the timeline.
   *
   * @param {Step} step
   * @param {number} activity
   * @returns {Node[]}
   */
  #activityFacts(step, activity) {
    const [name, ...lines] = this.#activityWords(step, activity);
    const head = element("h3", { class: "name", title: cutName(this.wholeName(step.opOf(activity)), LONGEST_TITLE) }, name);
    const awaited = step.awaited(activity);
    const go = element("button", { type: "button", class: "link-button" }, "Go to what it waited for");
    go.addEventListener("click", () => this.#choose(awaited));
    const slackUs = step.isTransfer(activity) || step.isCritical[activity] ? 0 : step.array("op.slack_us")[activity];
    const slack = slackUs > 0 ? [element("p", {}, `It could end ${formatTime(slackUs)} later and the step would take no longer.`)] : [];
    return [head, ...lines.map((line) => element("p", {}, `${line[0].toUpperCase()}${line.slice(1)}.`)), ...slack, ...(awaited === NONE ? [] : [go])];
  }

  /** @param {import("./timeline-view.js").Target | null} target */
  #hover(target) {
    const step = this.#step;
    if (!target || !step) {
      this.#tip.hide();
      return;
    }
    const lines = target.idle >= 0 ? this.#idleWords(step, target.idle) : this.#activityWords(step, target.activity);
    const op = target.idle >= 0 ? -1 : step.opOf(target.activity);
    const whole = op >= 0 && this.wholeName(op) !== this.opName(op) ? [element("p", { class: "name tip-whole" }, cutName(this.wholeName(op), LONGEST_TITLE))] : [];
    this.#tip.show([...lines.map((line) => element("p", { class: "name" }, line)), ...whole], target.x, this.#part("timeline").offsetTop + target.y);
  }

  /**
   * @param {Step} step
   * @param {number} activity
   * @returns {string[]}
   */
  #activityWords(step, activity) {
    const [start, end] = step.span(activity);
    const name = cutName(this.opName(step.opOf(activity)), 80);
    const where = placeOf(step, activity, this.#labels);
    const awaited = step.awaited(activity);
    const lines = [
      step.isTransfer(activity)
        ? `transfer of ${name}, ${formatBytes(step.array("transfer.bytes")[activity - step.opCount])}`
        : `${name} (${cutName(this.#ops?.types[activity] || "op", 40)})`,
      `${where}: ${formatTime(end - start)}, from ${formatTime(start, 4)}, ${formatShare((end - start) / step.stepTimeUs)} of the step`,
    ];
    if (awaited !== NONE) {
      const of = cutName(this.opName(step.opOf(awaited)), 60);
      lines.push(`waited for ${step.isTransfer(awaited) ? "the transfer of " : ""}${of}`);
    }
    return step.isCritical[activity] ? [...lines, "on the critical chain"] : lines;
  }

  /**
   * @param {Step} step
   * @param {number} index of an idle time
   * @returns {string[]}
   */
  #idleWords(step, index) {
    const names = /** @type {(keyof typeof IDLE_CAUSES)[]} */ (step.texts.idle_causes);
    const length = step.array("idle.end_us")[index] - step.array("idle.start_us")[index];
    const device = this.#labels[step.array("idle.device")[index]];
    const lines = [`${device} idles ${formatTime(length)}: ${IDLE_CAUSES[names[step.array("idle.cause")[index]]]}`];
    const activity = step.array("idle.activity")[index];
    if (activity !== NONE) {
      const of = cutName(this.opName(step.opOf(activity)), 60);
      lines.push(`mostly ${step.isTransfer(activity) ? "the transfer of " : ""}${of}, ${placeOf(step, activity, this.#labels)}`);
    }
    return lines;
  }

  #listenToTools() {
    const acts = {
      "zoom-in": () => this.#axis.zoom(1.5),
      "zoom-out": () => this.#axis.zoom(1 / 1.5),
      fit: () => this.#axis.fit(),
    };
    for (const [name, act] of Object.entries(acts)) {
      find(this.#root, `[data-step-tool=${name}]`, HTMLButtonElement).addEventListener("click", act);
    }
  }

  get #labels() {
    return this.#looks.map(({ label }) => label);
  }

  /**
   * @param {number} op
   * @returns {string} its name in the file
   */
  wholeName(op) {
    return this.#ops?.names[op] ?? `op ${op}`;
  }

  /** @param {number} op */
  opName(op) {
    return (this.#ops && shownNames(this.#ops)[op]) ?? `op ${op}`;
  }

  /** @returns {ArrayLike<number>} [ops] known once a step is */
  get groupOfOp() {
    return this.#ops?.groups ?? [];
  }

  /** @param {number} op */
  groupOf(op) {
    return this.#ops?.groups[op] ?? -1;
  }

  /**
   * @param {number} op
   * @returns {string} the name of its group
   */
  groupName(op) {
    const group = this.#groups[this.groupOf(op)];
    return group ? shownName(group) : this.opName(op);
  }

  /** @param {string} name */
  #part(name) {
    return find(this.#page, `[data-step=${name}]`, HTMLElement);
  }
}
