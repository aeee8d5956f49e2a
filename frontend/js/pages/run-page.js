/** The page of a run: connects the modules. */

import { ComparePanel } from "../compare/compare-panel.js";
import { Announcer } from "../ui/announcer.js";
import { RunCharts } from "../chart/run-charts.js";
import { prefersLessMotion } from "../ui/colours.js";
import { COLOURINGS } from "../graph/colouring.js";
import { DecisionsPanel } from "../decisions/decisions-panel.js";
import { DeviceLegend } from "../graph/device-legend.js";
import { loadGraph } from "../graph/drawn-graph.js";
import { deviceLooks } from "../graph/devices.js";
import { find, setText } from "../ui/dom.js";
import { formatBytes, formatCount, formatTime } from "../ui/format.js";
import { fillNumbers } from "../ui/page-numbers.js";
import { FlatPanel } from "../ops/flat-panel.js";
import { GraphPanel } from "../graph/graph-panel.js";
import { crossing, loads } from "../graph/placement.js";
import { closeMenus } from "../ui/menu.js";
import { follow } from "../jobs/job-feed.js";
import { hasEnded } from "../jobs/job-state.js";
import { episodeAt, placementOfToken, rivalsOf } from "../run/placements.js";
import { PlayerControls } from "../run/player-controls.js";
import { shareLinks } from "../ui/share.js";
import { RunDownloads } from "../run/run-downloads.js";
import { RunHeader } from "../run/run-header.js";
import { initialState, reduce } from "../run/run-state.js";
import { ViewAddress } from "../run/view-address.js";
import { bestGains, gainsOfAll } from "../step/gains.js";
import { nodeFacts } from "../step/node-facts.js";
import { isKeptToken, KeptPlacements } from "../run/kept-placements.js";
import { StepPanel } from "../step/step-panel.js";
import { TryIt } from "../step/try-it.js";
import { verdict } from "../step/verdict.js";
import { keySheet } from "../ui/key-sheet.js";
import { keepHeight } from "../ui/steady-height.js";
import { getBytes, post, showFailure } from "../ui/server.js";
import { RUN_KEYS } from "../run/run-keys.js";

/** @typedef {import("../run/placements.js").KnownPlacement} KnownPlacement */

/** The least time between two live updates for a user who prefers less motion. */
const CALM_MILLISECONDS = 2000;

class RunPage {
  #root;
  #run;
  #graph;
  #methodLabels;
  #state;
  #header;
  #charts;
  #player;
  #legend;
  /** @type {GraphPanel} */
  #panel;
  #flat;
  #step;
  #decisions;
  #downloads;
  #compare;
  #kept;
  /** @type {TryIt} */
  #tryIt;
  #trials = 0;
  /** @type {import("../step/step.js").Step | null} of the shown placement, once it is known */
  #shownStep = null;
  #announcer;
  #address;
  /** The token of a placement to show as soon as the run has it. @type {string | null} */
  #wanted;
  /** The shown placement, if it is no episode. @type {KnownPlacement | null} */
  #fixed = null;
  #frame = 0;
  #isUpdating = false;
  #calmUntil = 0;
  #hasShown = false;

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
    this.#wanted = this.#address.view.shown || (hasEnded(run.status) ? "best" : null);
    const looks = deviceLooks(run.devices);
    this.#header = new RunHeader(root, run);
    this.#downloads = new RunDownloads(root);
    this.#charts = new RunCharts(root, methodLabels, {
      onSeek: (index) => this.#player.seek(index),
      onShow: (token) => this.#goTo(token),
    });
    this.#player = new PlayerControls(this.#part("player"), () => this.#showEpisode(), () => this.#returnToEpisode());
    this.#legend = new DeviceLegend(this.#part("devices"), run.devices, looks);
    const colours = {
      keys: Object.keys(COLOURINGS),
      onNeed: (/** @type {string} */ fact) => void (fact === "gainUs" && this.#showGains()),
      onChoose: (/** @type {string} */ colour) => this.#address.change({ colour }),
      stepFactsOf: (/** @type {ArrayLike<number>} */ nodeOfOp, /** @type {number} */ count) =>
        this.#shownStep && nodeFacts(this.#shownStep, nodeOfOp, count),
      onOpen: (/** @type {readonly string[]} */ opened) => this.#address.change({ opened }),
    };
    this.#kept = new KeptPlacements(() => this.#onKept());
    this.#panel = new GraphPanel(root, graph, run.devices, looks, colours, (group) => this.#compare && this.#chooseGroup(group), (group, device) =>
      this.#tryIt?.controls(group, device) ?? null, (groups) => this.#select(groups));
    this.#tryIt = new TryIt(root, looks, this.#kept, graph.groups, {
      base: () => this.#base,
      selected: () => this.#panel.selected,
      canTry: root.dataset.file === undefined,
      isSimulated: () => this.#shownStep !== null,
      onTrial: () => this.#onTrial(),
      onLocks: (groups) => this.#panel.lock(groups),
      show: (token) => this.#goTo(token),
      choose: (group) => this.#chooseGroup(group),
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
    this.#compare = new ComparePanel(this.#part("compare"), graph, looks, methodLabels, {
      onAgainst: (against) => this.#changeComparison({ against }),
      onBeside: (beside) => this.#changeComparison({ beside }),
      onChooseGroup: (group) => this.#chooseGroup(group),
      ops: this.#step,
      loadStep: ({ explanation, placement }) => (explanation ? getBytes(explanation) : this.#stepOf(placement)),
      askGains: async (placement, groups, to) =>
        (await post("gains.json", { ...this.#tryIt.fieldsOf(placement), groups, to }, "application/json")).json(),
    });
    keepHeight(this.#part("run-words"));
    this.#announcer = new Announcer(this.#part("announcer"));
    this.#part("watch").addEventListener("keydown", (event) => this.#onKey(event) || this.#player.onKey(event));
    this.#listenToCancel();
  }

  #offerPictures() {
    const { timeline, memory } = this.#step.drawings;
    const sized = (/** @type {string} */ selector) => () => {
      const part = this.#root.querySelector(selector);
      return { width: part?.clientWidth ?? 0, height: part?.clientHeight ?? 0 };
    };
    const step = "[data-part=step][data-state=ready]";
    const pictures = [
      { name: "graph", label: "Graph", size: sized("[data-part=canvas] .graph-canvas"), draw: drawnBy(this.#panel) },
      { name: "timeline", label: "Timeline", size: sized(`${step} [data-step=timeline]`), draw: drawnBy(timeline) },
      { name: "memory", label: "Memory", size: sized(`${step} [data-step=memory]`), draw: drawnBy(memory) },
      { name: "curve", label: "Step times", size: sized("[data-part=chart]"), draw: drawnBy(this.#charts) },
    ];
    const title = find(this.#root, "h1", HTMLElement).textContent ?? "";
    this.#downloads.offerPictures(pictures, title);
  }

  start() {
    this.#offerPictures();
    this.#draw();
    this.#panel.colourBy(this.#address.view.colour);
    this.#panel.open(this.#address.view.opened);
    this.#chooseGroup(this.#address.view.group);
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
    if (ended && this.#player.following && !this.#fixed && !this.#tryIt.trial) {
      this.#wanted = "best"; // who watched the run sees what it found, as everybody does who opens its page later
    }
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
    this.#isUpdating = true;
    this.#player.update(this.#state, !hasEnded(this.#state.status));
    this.#isUpdating = false;
    this.#compare.update(this.#state.lastSeq >= this.#run.last_seq ? this.#state : null);
    this.#showWanted();
    this.#charts.update(this.#state, this.#player.shown);
    this.#showDecisions();
  }

  /** Of the shown placement, if it is that of an episode. */
  #showDecisions() {
    this.#decisions.show(this.#state, this.#tryIt.trial || this.#fixed ? -1 : this.#player.shown);
  }

  /**
   * After the user went back or forward. A placement by hand has no address: it stays while only something else changes.
   *
   * @param {import("../run/view.js").View} view that of the address
   * @param {import("../run/view.js").View} before
   */
  #showView(view, before) {
    if (view.shown !== (before.shown === "hand" ? "" : before.shown)) {
      this.#goTo(view.shown || (hasEnded(this.#state.status) ? "best" : "live"));
    }
    this.#panel.open(view.opened);
    this.#chooseGroup(view.group);
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
    this.#address.change({ group: chosen });
  }

  /** @param {readonly number[]} groups several, of which the last becomes the chosen one */
  #select(groups) {
    this.#panel.select(groups);
    this.#step.chooseGroup(groups.at(-1) ?? -1);
    this.#address.change({ group: groups.at(-1) ?? -1 });
  }

  /** The list of kept placements has changed, or one of them is known now. */
  #onKept() {
    this.#drawSoon();
    this.#drawNumbers();
  }

  /** Whether the events of a run that has ended are still on their way: nothing is the best or the last yet. */
  get #isLoading() {
    return hasEnded(this.#state.status) && this.#state.lastSeq < this.#run.last_seq;
  }

  /**
   * Show the placement of a token, now or as soon as the run has it.
   *
   * @param {string} token
   */
  #goTo(token) {
    this.#wanted = token;
    this.#showWanted();
  }

  #showWanted() {
    if (this.#wanted === null) {
      return;
    }
    const known = placementOfToken(this.#wanted, this.#state, this.#methodLabels, this.#kept);
    const mayCome = isKeptToken(this.#wanted) ? this.#kept.isLoading(this.#wanted) : !hasEnded(this.#state.status);
    const waits = this.#isLoading || (!known && mayCome);
    setText(this.#part("view-message"), known ? "" : this.#missingWords(this.#wanted, waits));
    if (waits) {
      return;
    }
    const token = this.#wanted;
    this.#wanted = null;
    if (!known || known.episodeIndex < 0) {
      this.#showFixed(known);
    } else if (token === "live") {
      this.#leaveFixed(() => this.#player.act("last"));
    } else {
      this.#leaveFixed(() => this.#player.seek(known.episodeIndex));
    }
  }

  /**
   * @param {string} token
   * @param {boolean} waits
   */
  #missingWords(token, waits) {
    if (["best", "live"].includes(token)) {
      return "";
    }
    return waits ? `Waiting for ${token.replace("-", " ")}…` : `This run has no placement “${token}”.`;
  }

  /** @param {KnownPlacement | null} known a placement that is no episode; null: stay where the player is */
  #showFixed(known) {
    this.#player.pause();
    this.#tryIt.leave();
    this.#fixed = known;
    if (known?.keptId) {
      this.#tryIt.setLocks(this.#kept.lockedGroups(known.token));
    }
    this.#showPlacement();
  }

  /** @param {() => void} move the player; a player that does not move still shows its episode again */
  #leaveFixed(move) {
    const index = this.#player.shown;
    move();
    if (!this.#hasShown && this.#player.shown === index) {
      this.#showEpisode();
    }
  }

  #onTrial() {
    this.#waitNoMore();
    this.#player.pause();
    this.#showPlacement();
  }

  /** A person has chosen another placement than the awaited one. */
  #waitNoMore() {
    this.#wanted = null;
    setText(this.#part("view-message"), "");
  }

  /** The player was asked for the episode where it stands: it takes the place of another placement. */
  #returnToEpisode() {
    if (this.#fixed || this.#tryIt.trial) {
      this.#showEpisode();
    }
  }

  #showEpisode() {
    if (this.#isUpdating && (this.#fixed || this.#isLoading)) {
      return; // a person looks at something else, or the best one is shown once all have come
    }
    this.#hasShown = true;
    const now = performance.now();
    if (this.#player.following && prefersLessMotion() && now < this.#calmUntil && !hasEnded(this.#state.status)) {
      return;
    }
    this.#calmUntil = now + CALM_MILLISECONDS;
    if (!this.#player.following) {
      this.#waitNoMore();
    }
    this.#tryIt.leave();
    this.#fixed = null;
    this.#showPlacement();
  }

  /** Show the placement of the shown episode, a fixed one, or the one made of it by hand. */
  #showPlacement() {
    const { placement } = this.#tryIt;
    this.#charts.update(this.#state, this.#player.shown);
    this.#showDecisions();
    this.#shownStep = null;
    this.#panel.show(placement);
    this.#step.show(this.#shownOf(placement), this.#player.following && !hasEnded(this.#state.status));
    this.#drawNumbers();
    const words = `${this.#base?.words}${this.#tryIt.trial ? ", changed by hand" : ""}`;
    this.#downloads.show(placement && { words, fields: this.#tryIt.fields() });
    if (this.#wanted === null) {
      this.#address.change({ shown: this.#token });
    }
  }

  /** The token of the shown placement; empty where it is what the page opens with. */
  get #token() {
    const ended = hasEnded(this.#state.status);
    if (this.#tryIt.trial || this.#fixed) {
      const token = this.#tryIt.trial ? "hand" : (this.#fixed?.token ?? "");
      return ended && token === "best" ? "" : token;
    }
    const best = placementOfToken("best", this.#state, this.#methodLabels);
    if (this.#player.shown === best?.episodeIndex && (ended || !this.#player.following)) {
      return ended ? "" : "best";
    }
    return this.#player.following && !ended ? "" : (this.#base?.token ?? "");
  }

  /** The shown placement without what was changed by hand; null without one. */
  get #base() {
    return this.#fixed ?? episodeAt(this.#state, this.#player.shown);
  }

  /** @returns {import("../compare/compare-panel.js").Shown | null} the shown placement, to compare it with another */
  get #compared() {
    const base = this.#base;
    const { placement, trial } = this.#tryIt;
    if (!base || !placement) {
      return null;
    }
    return trial ? { words: `the placement by hand, from ${base.words}`, token: null, placement } : { ...base, placement };
  }

  #drawNumbers() {
    const base = this.#base;
    const { placement, trial } = this.#tryIt;
    const known = trial ? null : (base?.stepTimeUs ?? null);
    const stepTimeUs = known ?? this.#shownStep?.stepTimeUs ?? null;
    this.#legend.show(placement && loads(this.#graph.groups, this.#run.devices, placement), stepTimeUs);
    this.#tryIt.draw(this.#shownStep, trial ? "hand" : (base?.token ?? ""));
    this.#compare.show(this.#compared, this.#shownStep);
    setText(this.#part("shown"), base ? this.#words(base) : "");
    setText(this.#part("verdict"), stepTimeUs === null ? "" : this.#verdict(stepTimeUs, base));
  }

  /**
   * @param {number} stepTimeUs
   * @param {KnownPlacement | null} base
   */
  #verdict(stepTimeUs, base) {
    const step = this.#shownStep;
    return verdict({
      stepTimeUs,
      feasible: this.#tryIt.trial ? (step?.feasible ?? true) : (base?.feasible ?? true),
      rivals: rivalsOf(this.#state, this.#methodLabels, this.#tryIt.trial ? "" : (base?.token ?? "")),
      lowerBoundUs: this.#state.started?.lower_bound_us ?? null,
      step,
      labels: deviceLooks(this.#run.devices).map(({ label }) => label),
      groupName: (op) => this.#step.groupName(op),
    });
  }

  /**
   * @param {ArrayLike<number> | null} placement
   * @returns {import("../step/step-panel.js").Shown | null}
   */
  #shownOf(placement) {
    const base = this.#base;
    if (!base || !placement) {
      return null;
    }
    if (!this.#tryIt.trial && base.explanation) {
      return { key: base.key, load: () => getBytes(base.explanation) };
    }
    this.#trials += 1;
    return { key: this.#tryIt.trial ? `by hand ${this.#trials}` : base.key, load: () => this.#stepOf(placement), isWanted: true };
  }

  /** @param {ArrayLike<number>} placement [groups] */
  async #stepOf(placement) {
    const answer = await post("step", this.#tryIt.fieldsOf(placement), "application/octet-stream");
    return answer.arrayBuffer();
  }

  /** @param {import("../step/step.js").Step | null} step */
  #onStep(step) {
    this.#shownStep = step;
    this.#tryIt.onStep(step);
    this.#legend.showPeaks(step && step.texts.peaks.map(({ bytes }) => bytes));
    if (step) {
      this.#drawNumbers();
      this.#panel.refreshPanel();
      this.#panel.know({ step: nodeFacts(step, this.#step.groupOfOp, this.#graph.groups.length) });
    }
  }

  /** Colour the groups by the gain of their best move, once the shown placement is known to stay. */
  async #showGains() {
    const [placement, step] = [this.#tryIt.placement, this.#shownStep];
    if (!placement || !step) {
      return;
    }
    try {
      const gains = await gainsOfAll(this.#tryIt.fields());
      if (this.#shownStep === step) {
        this.#panel.know({ gainUs: bestGains(gains, placement, step.stepTimeUs) });
      }
    } catch (error) {
      this.#panel.cannotKnow(error);
    }
  }

  /**
   * @param {KeyboardEvent} event
   * @returns {boolean} whether it changed the placement by hand
   */
  #onKey(event) {
    const target = event.target instanceof Element ? event.target : null;
    if (target?.closest("input, select, textarea") || event.altKey || !this.#tryIt.onKey(event)) {
      return false;
    }
    event.preventDefault();
    return true;
  }

  /** @param {KnownPlacement} base */
  #words(base) {
    const { placement, trial } = this.#tryIt;
    if (trial && placement) {
      return `By hand, from ${base.words}. ${this.#crossingWords(placement)}`;
    }
    const fits = base.feasible ? "" : ", does not fit in memory";
    const time = formatTime(base.stepTimeUs, 4);
    return `${base.words[0].toUpperCase()}${base.words.slice(1)}: ${time}${fits}. ${this.#crossingWords(base.placement)}`;
  }

  /** @param {ArrayLike<number>} placement */
  #crossingWords(placement) {
    const { edges, bytes } = crossing(this.#graph.edges, placement);
    return `${formatCount(edges)} of ${formatCount(this.#graph.edges.length)} edges cross devices (${formatBytes(bytes)}).`;
  }

  #listenToCancel() {
    const form = this.#root.querySelector("[data-part=cancel]");
    if (!(form instanceof HTMLFormElement)) {
      return; // a page that a secret link has opened
    }
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

/** @param {{ drawOn: (surface: import("../ui/svg-elements.js").Surface) => void }} view */
function drawnBy(view) {
  return (/** @type {import("../ui/svg-elements.js").Surface} */ surface) => view.drawOn(surface);
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
