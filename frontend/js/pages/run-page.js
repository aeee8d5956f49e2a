/** The page of a run: connects the modules. */

import { ComparePanel } from "../compare/compare-panel.js";
import { Announcer } from "../ui/announcer.js";
import { RunCharts } from "../chart/run-charts.js";
import { COLOURINGS } from "../graph/colouring.js";
import { DecisionsPanel } from "../decisions/decisions-panel.js";
import { DeviceLegend } from "../graph/device-legend.js";
import { loadGraph } from "../graph/drawn-graph.js";
import { deviceLooks } from "../graph/devices.js";
import { find, setText } from "../ui/dom.js";
import { fillNumbers } from "../ui/page-numbers.js";
import { FlatPanel } from "../ops/flat-panel.js";
import { GraphPanel } from "../graph/graph-panel.js";
import { crossingWords, loads } from "../graph/placement.js";
import { closeMenus } from "../ui/menu.js";
import { follow } from "../jobs/job-feed.js";
import { hasEnded } from "../jobs/job-state.js";
import { fieldsOf, rivalsOf } from "../run/placements.js";
import { PlayerControls } from "../run/player-controls.js";
import { ShownPlacement } from "../run/shown-placement.js";
import { listenToCancel } from "../run/cancel-form.js";
import { shareLinks } from "../ui/share.js";
import { resultOf } from "../run/result.js";
import { ResultPanel } from "../run/result-panel.js";
import { RunDownloads } from "../run/run-downloads.js";
import { RunHeader } from "../run/run-header.js";
import { initialState, reduce } from "../run/run-state.js";
import { ViewAddress } from "../run/view-address.js";
import { bestGains, gainsOfAll } from "../step/gains.js";
import { boundaryWords } from "../step/boundary.js";
import { nodeFacts } from "../step/node-facts.js";
import { KeptPlacements } from "../run/kept-placements.js";
import { StepPanel } from "../step/step-panel.js";
import { TryIt } from "../step/try-it.js";
import { verdict } from "../step/verdict.js";
import { keySheet } from "../ui/key-sheet.js";
import { keepHeight } from "../ui/steady-height.js";
import { getBytes, post, showFailure } from "../ui/server.js";
import { RUN_KEYS } from "../run/run-keys.js";

class RunPage {
  #root;
  #run;
  #graph;
  #methodLabels;
  #state;
  #header;
  #charts;
  #player;
  /** @type {ShownPlacement} */
  #shown;
  #legend;
  /** @type {GraphPanel} */
  #panel;
  #flat;
  #step;
  #decisions;
  #downloads;
  #result;
  #compare;
  #kept;
  /** @type {TryIt} */
  #tryIt;
  #trials = 0;
  /** @type {import("../step/step.js").Step | null} of the shown placement, once it is known */
  #shownStep = null;
  /** @type {import("../graph/colouring.js").StepFacts | null} of its groups */
  #shownFacts = null;
  #announcer;
  #address;
  #frame = 0;

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
    this.#address = new ViewAddress((view, before) => this.#showView(view, before));
    const looks = deviceLooks(run.devices);
    this.#header = new RunHeader(root, run);
    this.#downloads = new RunDownloads(root);
    this.#result = new ResultPanel(root, (token) => this.#shown.goTo(token));
    this.#charts = new RunCharts(root, methodLabels, {
      onSeek: (index) => this.#player.seek(index),
      onShow: (token) => this.#shown.goTo(token),
    });
    this.#player = new PlayerControls(this.#part("player"), () => this.#shown.showEpisode(), () => this.#shown.returnToEpisode());
    this.#kept = new KeptPlacements(run.id, () => this.#onKept());
    const shownRun = { state: this.#state, lastSeq: run.last_seq, methodLabels };
    this.#shown = new ShownPlacement(shownRun, this.#address.view.shown, this.#kept, this.#player, {
      onShow: () => this.#showPlacement(),
      onWait: (words) => setText(this.#part("view-message"), words),
      onLocks: (groups) => this.#tryIt.setLocks(groups),
    });
    this.#legend = new DeviceLegend(this.#part("devices"), run.devices, looks);
    const colours = {
      keys: Object.keys(COLOURINGS),
      onNeed: (/** @type {string} */ fact) => void (fact === "gainShare" && this.#showGains()),
      onChoose: (/** @type {string} */ colour) => this.#address.change({ colour }),
      stepFactsOf: (/** @type {ArrayLike<number>} */ nodeOfOp, /** @type {number} */ count) =>
        this.#shownStep && nodeFacts(this.#shownStep, nodeOfOp, count),
      onOpen: (/** @type {readonly string[]} */ opened) => this.#address.change({ opened }),
    };
    const ops = { groupOf: (/** @type {number} */ op) => this.#step.groupOf(op), opName: (/** @type {number} */ op) => this.#step.opName(op) };
    this.#panel = new GraphPanel(root, graph, run.devices, looks, colours, {
      onChoose: (group) => this.#compare && this.#chooseGroup(group),
      extraOf: (_, device) => this.#tryIt?.controls(device) ?? null,
      onFill: () => this.#tryIt?.drawCosts(),
      boundaryOf: (group) => (this.#shownStep ? boundaryWords(this.#shownStep.cuts, group, ops) : ""),
      onSelect: (groups) => this.#select(groups),
      onDrag: root.dataset.file === undefined ? (group, event) => this.#tryIt.drag(group, event) : undefined,
    });
    this.#tryIt = new TryIt(root, looks, this.#shown, this.#kept, graph.groups, {
      selected: () => this.#panel.selected,
      canTry: root.dataset.file === undefined,
      step: () => this.#shownStep,
      onLocks: (groups) => this.#panel.lock(groups),
      choose: (group) => this.#chooseGroup(group),
      say: (words) => this.#announcer.say(words, { urgent: true }),
    });
    this.#flat = new FlatPanel(root, this.#panel, graph.groups, looks, {
      onChooseGroup: (group) => this.#chooseGroup(group),
      onChooseOp: (op) => this.#step.chooseOp(op),
      onSwitch: (drawn) => this.#address.change({ drawn }),
    });
    const explained = this.#part("step");
    this.#step = new StepPanel(explained, run.devices, graph.groups, String(explained.dataset.ops), {
      onChooseGroup: (group) => this.#chooseGroup(group),
      onChooseOp: (op) => this.#flat.chooseOp(op),
      onStep: (step) => this.#onStep(step),
    });
    this.#decisions = new DecisionsPanel(this.#part("decisions"), graph.groups, looks, {
      onChooseGroup: (group) => this.#chooseGroup(group),
      onDecided: (decided) => this.#panel.light(decided),
    });
    this.#compare = new ComparePanel(this.#part("compare"), graph, looks, methodLabels, this.#kept, {
      onAgainst: (against) => this.#changeComparison({ against }),
      onBeside: (beside) => this.#changeComparison({ beside }),
      onChooseGroup: (group) => this.#chooseGroup(group),
      ops: this.#step,
      tipOf: (group, device, parts) => this.#panel.tipOf(group, device, parts),
      loadStep: ({ explanation, placement, base }) => (explanation ? this.#explanation(explanation) : stepOf(fieldsOf(placement, base))),
      askGains: root.dataset.file === undefined
        ? async (placement, groups, to) => (await post("gains.json", { ...this.#shown.fieldsOf(placement), groups, to }, "application/json")).json()
        : null,
    });
    keepHeight(this.#part("run-words"));
    this.#announcer = new Announcer(this.#part("announcer"));
    document.addEventListener("keydown", (event) => this.#isForPage(event) && (this.#onKey(event) || this.#player.onKey(event)));
    listenToCancel(root, this.#announcer);
  }

  start() {
    this.#downloads.offerPictures(this.#root, { graph: this.#panel, ...this.#step.drawings, curve: this.#charts });
    this.#draw();
    this.#panel.colourBy(this.#address.view.colour);
    this.#panel.open(this.#address.view.opened);
    this.#showSelection(this.#address.view.groups);
    this.#showComparison();
    const store = {
      state: () => this.#state,
      /** @param {import("../run/run-state.js").EventsAction | import("../run/run-state.js").StatusAction} action */
      apply: (action) => this.#apply(action),
    };
    follow(store, (connection) => this.#header.showConnection(connection));
    return this.#flat.draw(this.#address.view.drawn);
  }

  /** @param {import("../run/run-state.js").EventsAction | import("../run/run-state.js").StatusAction} action */
  #apply(action) {
    const before = this.#state;
    this.#state = reduce(before, action);
    if (this.#state === before) {
      return;
    }
    this.#drawSoon();
    const ended = hasEnded(this.#state.status) && !hasEnded(before.status);
    if (!hasEnded(before.status)) {
      this.#announcer.say(this.#header.sentence(this.#state), { urgent: ended });
    }
  }

  #drawSoon() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  #draw() {
    this.#header.show(this.#state);
    this.#showResult();
    this.#shown.update(this.#state);
    this.#compare.update(this.#state.lastSeq >= this.#run.last_seq ? this.#state : null);
    this.#charts.update(this.#state, this.#player.shown, this.#shown.episodeIndex >= 0);
    this.#decisions.show(this.#state, this.#shown.episodeIndex);
  }

  /**
   * After the user went back or forward. A placement by hand has no address: it stays while only something else changes.
   *
   * @param {import("../run/view.js").View} view that of the address
   * @param {import("../run/view.js").View} before
   */
  #showView(view, before) {
    if (view.shown !== (before.shown === "hand" ? "" : before.shown)) {
      this.#shown.goTo(view.shown);
    }
    this.#panel.open(view.opened);
    this.#showSelection(view.groups);
    this.#panel.colourBy(view.colour);
    this.#showComparison();
    this.#flat.draw(view.drawn);
  }

  #showComparison() {
    this.#compare.compareWith(this.#address.view.against, this.#address.view.beside);
  }

  /** @param {Partial<import("../run/view.js").View>} patch of what is compared, and how */
  #changeComparison(patch) {
    this.#address.change(patch);
    this.#showComparison();
  }

  /** @param {number} group -1 for none */
  #chooseGroup(group) {
    const chosen = group < this.#graph.groups.length ? group : -1;
    this.#panel.choose(chosen);
    this.#step.chooseGroup(chosen);
    this.#compare.chooseGroup(chosen);
    this.#tryIt.choose(chosen);
    this.#address.change({ groups: chosen < 0 ? [] : [chosen] });
  }

  /** @param {readonly number[]} groups several, of which the last becomes the chosen one */
  #select(groups) {
    const chosen = groups.at(-1) ?? -1;
    this.#panel.select(groups);
    this.#step.chooseGroup(chosen);
    this.#compare.chooseGroup(chosen);
    this.#tryIt.choose(chosen);
    this.#address.change({ groups });
  }

  /** @param {readonly number[]} groups of an address */
  #showSelection(groups) {
    const known = groups.filter((group) => group < this.#graph.groups.length);
    if (known.length > 1) {
      this.#select(known);
    } else {
      this.#chooseGroup(known[0] ?? -1);
    }
  }

  /** The list of kept placements has changed, or one of them is known now. */
  #onKept() {
    this.#drawSoon();
    this.#drawNumbers();
  }

  /** Show the placement of the shown episode, another one, or the one made of it by hand. */
  #showPlacement() {
    const { placement, words } = this.#shown;
    this.#showResult();
    this.#charts.update(this.#state, this.#player.shown, this.#shown.episodeIndex >= 0);
    this.#decisions.show(this.#state, this.#shown.episodeIndex);
    this.#shownStep = this.#shownFacts = null;
    this.#panel.show(placement);
    this.#step.show(this.#explained(), this.#shown.isLive);
    this.#drawNumbers();
    this.#downloads.show(placement && { words, fields: this.#shown.fields() });
    if (!this.#shown.isAwaiting) {
      this.#address.change({ shown: this.#shown.token }, this.#player.playing);
    }
  }

  #showResult() {
    const { report } = this.#state;
    const canShow = Boolean(report?.simplest) && this.#root.dataset.file === undefined;
    this.#result.show(resultOf(report, this.#run.result), this.#shown.token, canShow);
  }

  #drawNumbers() {
    const { base, placement, trial, sentence } = this.#shown;
    const known = trial ? null : (base?.stepTimeUs ?? null);
    const stepTimeUs = known ?? this.#shownStep?.stepTimeUs ?? null;
    this.#legend.show(placement && loads(this.#graph.groups, this.#run.devices, placement, this.#shownFacts?.parts), stepTimeUs);
    this.#tryIt.draw(this.#shownStep);
    this.#compare.show(this.#shown.compared, this.#shownStep);
    setText(this.#part("shown"), placement ? `${sentence} ${crossingWords(this.#graph.edges, placement, this.#shownStep?.cuts ?? null)}` : "");
    setText(this.#part("verdict"), stepTimeUs === null ? "" : this.#verdict(stepTimeUs));
  }

  /** @param {number} stepTimeUs */
  #verdict(stepTimeUs) {
    const [{ base, trial }, step] = [this.#shown, this.#shownStep];
    return verdict({
      name: this.#shown.name,
      stepTimeUs,
      feasible: trial ? (step?.feasible ?? true) : (base?.feasible ?? true),
      rivals: rivalsOf(this.#state, this.#methodLabels, trial ? "" : (base?.token ?? "")),
      lowerBoundUs: this.#state.started?.lower_bound_us ?? null,
      step,
      labels: deviceLooks(this.#run.devices).map(({ label }) => label),
      groupName: (op) => this.#step.groupName(op),
    });
  }

  /** @returns {import("../step/step-panel.js").Shown | null} the shown placement, to explain it */
  #explained() {
    const { base, trial, placement } = this.#shown;
    if (!base || !placement) {
      return null;
    }
    if (!trial && base.explanation) {
      return { key: base.key, load: () => this.#explanation(base.explanation) };
    }
    this.#trials += 1;
    const fields = this.#shown.fields();
    return { key: trial ? `by hand ${this.#trials}` : base.key, load: () => stepOf(fields), isWanted: true };
  }

  /**
   * Ask for an explanation, which a browser keeps for this version alone: the next one may say more.
   *
   * @param {string} address
   */
  #explanation(address) {
    return getBytes(`${address}?version=${this.#root.dataset.version}`);
  }

  /** @param {import("../step/step.js").Step | null} step */
  #onStep(step) {
    this.#shownStep = step;
    this.#tryIt.onStep(step);
    this.#legend.showPeaks(step && step.texts.peaks.map(({ bytes }) => bytes));
    this.#shownFacts = step && nodeFacts(step, this.#step.groupOfOp, this.#graph.groups.length);
    if (this.#shownFacts) {
      this.#drawNumbers();
      this.#panel.refreshPanel();
      this.#panel.know({ step: this.#shownFacts });
    }
  }

  /** Colour the groups by the gain of their best move, once the shown placement is known to stay. */
  async #showGains() {
    const [placement, step] = [this.#shown.placement, this.#shownStep];
    if (!placement || !step) {
      return;
    }
    try {
      const gains = await gainsOfAll(this.#shown.fields());
      if (this.#shownStep === step) {
        this.#panel.know({ gainShare: bestGains(gains, placement, step.stepTimeUs) });
      }
    } catch (error) {
      this.#panel.cannotKnow(error);
    }
  }

  /**
   * Whether nothing outside of the watched parts has the key: what a person pressed may have gone from the page since.
   *
   * @param {KeyboardEvent} event
   */
  #isForPage({ target }) {
    return target === document.body || (target instanceof Node && this.#part("watch").contains(target));
  }

  /**
   * @param {KeyboardEvent} event
   * @returns {boolean} whether it changed the placement by hand, or the selection
   */
  #onKey(event) {
    const target = event.target instanceof Element ? event.target : null;
    if (target?.closest("input, select, textarea") || event.altKey) {
      return false;
    }
    const isLeft = event.key === "Escape" && target === document.body && this.#panel.selected.length > 0;
    if (isLeft) {
      this.#chooseGroup(-1);
    }
    if (!isLeft && !this.#tryIt.onKey(event)) {
      return false;
    }
    event.preventDefault();
    return true;
  }

  /** @param {string} name */
  #part(name) {
    return find(this.#root, `[data-part=${name}]`, HTMLElement);
  }
}

/** @param {ReturnType<typeof fieldsOf>} fields of a placement without an explanation of its own */
async function stepOf(fields) {
  const answer = await post("step", fields, "application/octet-stream");
  return answer.arrayBuffer();
}

async function main() {
  const root = find(document, "[data-page=run]", HTMLElement);
  fillNumbers(document);
  closeMenus(document);
  keySheet(find(root, "[data-part=keys]", HTMLButtonElement), RUN_KEYS);
  shareLinks(document);
  const run = /** @type {import("../ui/contracts.js").Run} */ (JSON.parse(find(document, "#run", HTMLScriptElement).text));
  const methodLabels = JSON.parse(find(document, "#method-labels", HTMLScriptElement).text);
  setText(find(root, "[data-part=cluster]", HTMLElement), JSON.stringify(run.cluster, null, 1));
  try {
    const graph = await loadGraph("graph.json", find(root, "[data-part=canvas]", HTMLElement));
    await new RunPage(root, run, graph, methodLabels).start();
  } catch (error) {
    showFailure(find(root, "[data-part=chart]", HTMLElement), "The run cannot be shown.", error, () => location.reload());
    throw error;
  }
}

main();
