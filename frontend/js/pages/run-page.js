/** The page of a run: makes its parts, which share one store, and puts what is shown and followed into it. */

import { RunCharts } from "../chart/run-charts.js";
import { ComparePanel } from "../compare/compare-panel.js";
import { DecisionsPanel } from "../decisions/decisions-panel.js";
import { COLOURINGS } from "../graph/colouring.js";
import { deviceLooks } from "../graph/devices.js";
import { loadGraph } from "../graph/drawn-graph.js";
import { GraphPanel } from "../graph/graph-panel.js";
import { offerEndNotice } from "../jobs/end-notice.js";
import { FlatPanel } from "../ops/flat-panel.js";
import { listenToCancel } from "../run/cancel-form.js";
import { FollowedRun } from "../run/followed-run.js";
import { KeptPlacements } from "../run/kept-placements.js";
import { placeEpisodes } from "../run/episodes-place.js";
import { whyNoLink } from "../run/moves.js";
import { choice } from "../run/page-state.js";
import { PlayerControls } from "../run/player-controls.js";
import { ResultPanel } from "../run/result-panel.js";
import { RunDownloads } from "../run/run-downloads.js";
import { RunHeader } from "../run/run-header.js";
import { RUN_KEYS } from "../run/run-keys.js";
import { initialState } from "../run/run-state.js";
import { showStreamFacts } from "../run/stream-facts.js";
import { ShownPlacement } from "../run/shown-placement.js";
import { Store } from "../run/store.js";
import { ViewAddress } from "../run/view-address.js";
import { BatchPanel } from "../step/batch-panel.js";
import { boundaryWords } from "../step/boundary.js";
import { Explanations } from "../step/explanations.js";
import { Finder, groupsOfLayer } from "../step/finder.js";
import { findGainsForColour } from "../step/gain-colour.js";
import { nodeFacts } from "../step/node-facts.js";
import { ShownNumbers } from "../step/shown-numbers.js";
import { StepPanel } from "../step/step-panel.js";
import { FIRST_STEP_STATE } from "../step/step-state.js";
import { TryIt } from "../step/try-it.js";
import { Announcer } from "../ui/announcer.js";
import { find, setText } from "../ui/dom.js";
import { keySheet } from "../ui/key-sheet.js";
import { tendMenus } from "../ui/menu.js";
import { fillNumbers } from "../ui/page-numbers.js";
import { post, showFailure } from "../ui/server.js";
import { shareLinks } from "../ui/share.js";
import { Tabs } from "../ui/tabs.js";
import { keepHeight } from "../ui/steady-height.js";

class RunPage {
  #root;
  #graph;
  /** @type {import("../step/step-state.js").StepStore} */
  #store = new Store(FIRST_STEP_STATE);
  #address;
  #player;
  /** @type {ShownPlacement} */
  #shown;
  #header;
  #announcer;
  #followed;
  #flat;
  /** @type {TryIt} */
  #tryIt;

  /**
   * @param {HTMLElement} root
   * @param {import("../ui/contracts.js").Run} run
   * @param {import("../ui/contracts.js").GroupGraph} graph
   * @param {Record<string, string>} methodLabels method → label
   */
  constructor(root, run, graph, methodLabels) {
    this.#root = root;
    this.#graph = graph;
    const store = this.#store;
    const looks = deviceLooks(run.devices);
    const first = initialState(run.status, run.error);
    this.#address = new ViewAddress((view, before) => this.#showView(view, before));
    this.#player = new PlayerControls(this.#part("player"), () => this.#shown.showEpisode(), () => this.#shown.returnToEpisode());
    const kept = new KeptPlacements(run.id, () => store.set({ kept: {} }));
    this.#shown = new ShownPlacement({ state: first, lastSeq: run.last_seq, devices: run.devices.length, methodLabels, quantity: run.stream ? "period " : "" }, this.#address.view.shown, kept, this.#player, {
      onShow: (placed) => this.#onShow(placed),
      onWait: (words) => setText(this.#part("view-message"), words),
      onLocks: (locked) => store.set({ locked }),
    });
    this.#announcer = new Announcer(this.#part("announcer"));
    this.#header = new RunHeader(root, run, store);
    this.#followed = new FollowedRun(store, first, (state, urgent) => this.#announcer.say(this.#header.sentence(state), { urgent }));
    new ResultPanel(root, run.result, store, this.#shown);
    showStreamFacts(root, store);
    store.subscribe(["run", "kept"], (state) => state.run && this.#shown.update(state.run));
    const charts = new RunCharts(root, methodLabels, store, this.#shown, (index) => this.#player.seek(index));
    const downloads = new RunDownloads(root, store, this.#shown);
    const { panel, step } = this.#drawings(run, looks, methodLabels, kept);
    downloads.offerPictures(root, { graph: panel, ...step.drawings, curve: charts });
    this.#tryIt = new TryIt(root, looks, this.#shown, kept, graph.groups, {
      store,
      canTry: this.#hasServer,
      say: (words) => this.#announcer.say(words, { urgent: true }),
    });
    this.#flat = new FlatPanel(root, panel, graph.groups, looks, store, { listsOps: false, timeOf: (op) => store.state.step?.timeOf(op) ?? null });
    this.#address.follow(store, () => this.#player.playing);
    keepHeight(this.#part("run-words"));
    const batch = run.stream ? new BatchPanel(this.#part("micro-batches"), run.devices, store) : null;
    const tabs = new Tabs(this.#part("tabs"), (panel) => (panel === "gains" ? this.#tryIt.findGains() : panel === "micro-batches" && batch?.show()));
    placeEpisodes(root, store, tabs);
    const unsubscribe = store.subscribe(["step"], ({ step }) => {
      if (step) {
        unsubscribe();
        tabs.follow(); // what the address names may have had no height until now
      }
    });
    const field = find(this.#part("find"), "input", HTMLInputElement);
    new Finder(field, this.#part("found"), { groups: graph.groups, opNames: () => step.opNames() }, async ({ kind, index, name }) => {
      if (kind === "op") {
        step.chooseOp(index);
      } else {
        store.set(choice(store.state, kind === "layer" ? groupsOfLayer(name, await step.opNames()) : [index]));
      }
    });
    document.addEventListener("keydown", (event) => this.#isForPage(event) && (this.#onKey(event) || this.#player.onKey(event)));
    window.addEventListener("beforeunload", (event) => this.#shown.wouldBeLost && event.preventDefault());
    listenToCancel(root, this.#announcer);
  }

  /**
   * The parts that draw the shown placement, and what its step is made of.
   *
   * @param {import("../ui/contracts.js").Run} run
   * @param {import("../graph/devices.js").DeviceLook[]} looks
   * @param {Record<string, string>} methodLabels method → label
   * @param {KeptPlacements} kept
   */
  #drawings(run, looks, methodLabels, kept) {
    const [root, graph, store, shown] = [this.#root, this.#graph, this.#store, this.#shown];
    const stepFactsOf = (/** @type {ArrayLike<number>} */ nodeOfOp, /** @type {number} */ count) =>
      store.state.step && nodeFacts(store.state.step, nodeOfOp, count);
    const panel = new GraphPanel(root, graph, run.devices, looks, { keys: Object.keys(COLOURINGS), stepFactsOf }, store, {
      selectsMany: true,
      extraOf: (_, device) => this.#tryIt?.controls(device) ?? null,
      onFill: () => this.#tryIt?.drawCosts(),
      boundaryOf: (group) => (store.state.step ? boundaryWords(store.state.step.cuts, group, step) : ""),
      onDrag: this.#hasServer ? (group, event) => this.#tryIt.drag(group, event) : undefined,
    });
    const explanations = new Explanations(shown, String(root.dataset.version));
    const explained = this.#part("step");
    const step = new StepPanel(explained, root, run.devices, graph.groups, String(explained.dataset.ops), store, explanations);
    new ShownNumbers(root, graph, run.devices, methodLabels, store, shown, (op) => step.groupName(op), run.stream !== undefined);
    new DecisionsPanel(this.#part("decisions"), graph.groups, looks, store, shown);
    new ComparePanel(this.#part("compare"), graph, looks, methodLabels, kept, store, shown, {
      lastSeq: run.last_seq,
      ops: step,
      tipOf: (group, device, parts) => panel.tipOf(group, device, parts),
      loadStep: (reference) => explanations.of(reference),
      askGains: this.#hasServer
        ? async (placement, groups, to) => (await post("gains.json", { ...shown.fieldsOf(placement), groups, to }, "application/json")).json()
        : null,
    });
    findGainsForColour(store, shown);
    return { panel, step };
  }

  /** Whether a server says what a move changes: not in a file. */
  get #hasServer() {
    return this.#root.dataset.file === undefined;
  }

  start() {
    this.#followed.follow((connection) => this.#header.showConnection(connection));
    this.#takeView(this.#address.view);
    return this.#flat.start();
  }

  /**
   * After the user went back or forward.
   *
   * @param {import("../run/view.js").View} view that of the address
   * @param {import("../run/view.js").View} before
   */
  #showView(view, before) {
    this.#takeView(view);
    if (view.shown !== before.shown) {
      this.#shown.goTo(view.shown);
    }
  }

  /** @param {import("../run/view.js").View} view that of the address, which may name groups that this graph does not have */
  #takeView(view) {
    const [groups, locked] = [view.groups, view.locked].map((all) => all.filter((group) => group < this.#graph.groups.length));
    this.#store.set({ ...view, locked, ...choice(this.#store.state, groups) });
  }

  /** @param {import("../run/shown-placement.js").Placed | null} placed the placement that is shown from now on */
  #onShow(placed) {
    const isSame = placed?.key === this.#store.state.placed?.key;
    const shown = this.#shown.isAwaiting ? {} : { shown: this.#shown.token };
    this.#store.set({ placed, ...shown, ...(isSame ? {} : { step: null, facts: null, gainShare: null }) });
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
    const isLeft = event.key === "Escape" && target === document.body && this.#store.state.groups.length > 0;
    if (isLeft) {
      this.#store.set(choice(this.#store.state, []));
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

async function main() {
  const root = find(document, "[data-page=run]", HTMLElement);
  fillNumbers(document);
  tendMenus(document);
  keySheet(find(root, "[data-part=keys]", HTMLButtonElement), RUN_KEYS);
  shareLinks(document, whyNoLink);
  offerEndNotice(document);
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
