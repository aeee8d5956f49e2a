/**
 * A grouped graph with its tools: the canvas, its colours with their legend, zoom buttons, the tip, the panel of the
 * chosen group, and the table with the same selection. Used by the page of a graph and by the page of a run.
 */

import { choice, chosenGroup } from "../run/page-state.js";
import { element, find } from "../ui/dom.js";
import { counted } from "../ui/format.js";
import { showFailure } from "../ui/server.js";
import { Tip } from "../ui/tip.js";
import { ChosenPanel } from "./chosen-panel.js";
import { GraphColours } from "./graph-colours.js";
import { GraphView } from "./graph-view.js";
import { groupTip } from "./group-details.js";
import { GroupFacts } from "./group-facts.js";
import { GroupsTable } from "./groups-table.js";
import { ScopePanel } from "./scope-panel.js";
import { checkedPath } from "./scope-path.js";
import { leaveOutSmallFans } from "./small-fans-note.js";

/** @typedef {import("./graph-state.js").GraphState} GraphState */

/**
 * @typedef {object} Colours
 * @property {readonly string[]} keys of `COLOURINGS`, the first one is shown at first
 * @property {import("./scope-panel.js").Surroundings["stepFactsOf"]} [stepFactsOf] facts of the items of an opened scope; null: not known yet
 */

/**
 * @typedef {object} Acts what the page does with groups
 * @property {import("./chosen-panel.js").ChosenActs["extraOf"]} [extraOf]
 * @property {import("./chosen-panel.js").ChosenActs["onFill"]} [onFill]
 * @property {boolean} [selectsMany] whether several groups can be selected
 * @property {(group: number) => string} [boundaryOf] the boundary inside a group on several devices, in words; empty: not known yet
 * @property {(group: number, event: PointerEvent) => void} [onDrag] a person drags a group out of its place
 */

/**
 * @typedef {object} GroupsPicture what a picture of the groups can do
 * @property {(picture: import("./graph-view.js").Picture) => void} show
 * @property {(lit: ArrayLike<number> | null) => void} light
 * @property {(group: number, reveal: boolean) => void} choose
 * @property {(closer: boolean) => void} zoom
 * @property {() => void} fit
 * @property {(surface: import("../ui/svg-elements.js").Surface) => void} [drawOn]
 * @property {(key: string, facts: import("./colouring.js").Facts, costs: import("../ui/contracts.js").OpCosts | null) => import("./colouring.js").Colouring | null} [paint]
 *   colours of nodes that are no groups, for the legend; null: it shows the groups' colours
 */

export class GraphPanel {
  #root;
  #graph;
  #store;
  #acts;
  #known;
  #table;
  #colours;
  #scopes;
  #chosen;
  /** @type {GraphView | null} */
  #view = null;
  /** @type {GroupsPicture | null} in place of the drawn graph */
  #other = null;
  #tip = new Tip();

  /**
   * @param {HTMLElement} root with `[data-part=canvas]`, `[data-part=groups]`, `[data-part=chosen]` and zoom buttons
   * @param {import("../ui/contracts.js").GroupGraph} graph
   * @param {readonly import("../ui/contracts.js").Device[]} devices empty: the graph alone
   * @param {import("./devices.js").DeviceLook[]} looks
   * @param {Colours} colours
   * @param {import("./graph-state.js").GraphStore} store
   * @param {Acts} [acts]
   */
  constructor(root, graph, devices, looks, colours, store, acts = {}) {
    this.#root = root;
    this.#graph = graph;
    this.#store = store;
    this.#acts = acts;
    this.#known = new GroupFacts(graph, devices, looks, store, acts.boundaryOf ?? (() => ""));
    this.#table = new GroupsTable(this.#part("groups"), graph.groups, {
      looks,
      timeOf: (group) => this.#known.timeOf(group),
      partsOf: (group) => this.#known.partsOf(group.id),
      onChoose: (group) => this.#choose(group, "table"),
      onSelect: (groups, isRange) => this.#selectMore(groups, isRange),
      onSearch: (found) => this.#shownPicture?.light(found),
    });
    const parts = { choice: this.#part("colour"), legend: this.#part("colour-legend") };
    this.#colours = new GraphColours(parts, colours.keys, graph.groups, looks, this.#known, store, () => this.#paint());
    this.#scopes = new ScopePanel(this.#part("canvas"), this.#part("chosen-item"), graph.groups, {
      around: () => ({
        colour: this.#colours.key,
        facts: this.#colours.facts,
        costs: this.#colours.opCosts,
        stepFactsOf: colours.stepFactsOf,
        timeOf: (item, device) => this.#known.timeOn(item, device),
      }),
      onPath: (opened) => store.set({ opened }),
      onPaint: (painted) => this.#colours.explain(painted),
    });
    this.#chosen = new ChosenPanel(this.#part("chosen"), this.#known, store, {
      extraOf: acts.extraOf,
      onFill: acts.onFill,
      onClose: () => this.#choose(-1, "table"),
      onOpen: (group) => this.#openGroup(group),
    });
    this.#listenToTools();
    this.#follow();
  }

  #follow() {
    this.#store.subscribe(["opened"], ({ opened }) => this.#open(opened));
    this.#store.subscribe(["groups", "chosenIn"], (state) => this.#showChosen(state));
    this.#store.subscribe(["placed", "facts", "gainShare"], (state, before) => this.#showFacts(state, before));
    this.#store.subscribe(["colour"], () => this.#paint());
    this.#store.subscribe(["locked"], ({ locked }) => {
      this.#view?.mark("locked", locked);
      this.#table.mark("locked", locked);
      this.#chosen.fill();
    });
    this.#store.subscribe(["decided"], ({ decided }) => this.#view?.light(decided ?? this.#table.found));
  }

  /** @param {readonly string[]} path `scope-path.js` describes it; empty, or one that leads nowhere: the whole graph */
  #open(path) {
    this.#tip.hide();
    this.#scopes.open(checkedPath(path, this.#graph.groups.length));
    if (this.#scopes.path.length === 0) {
      this.#paint();
    }
  }

  /** @param {number} group opened by a person */
  async #openGroup(group) {
    this.#chosen.fill();
    this.#store.set({ opened: [String(group)] });
    await this.#scopes.open(this.#scopes.path);
    this.#scopes.focus();
  }

  /** Draw the graph; the table works without it. */
  async draw() {
    const stage = this.#part("canvas");
    const host = element("div", {
      class: "graph-canvas",
      role: "img",
      tabindex: 0,
      "aria-label": `The graph of ${counted(this.#graph.groups.length, "group")}, in strips from left to right, the first one down, the next one up. The table of groups has the same content. Arrow keys pan, plus and minus zoom, 0 shows all of it, Enter opens the chosen group.`,
    });
    stage.querySelector(":scope > .graph-canvas, :scope > .failure")?.remove();
    stage.prepend(host);
    host.after(this.#tip.element);
    try {
      this.#view = await GraphView.create(host, this.#graph, {
        onChoose: (group) => this.#choose(group, "graph"),
        onSelect: (groups, isBox) => this.#selectMore(groups, isBox),
        onHover: (group, x, y) => this.#hover(group, x, y),
        onOpen: (group) => this.#openGroup(group),
        onDrag: this.#acts.onDrag,
      });
    } catch (error) {
      showFailure(host, "The graph cannot be drawn here; the table has the same groups.", error, () => this.draw());
      return;
    }
    host.addEventListener("keydown", (event) => {
      const chosen = chosenGroup(this.#store.state);
      if (event.key === "Enter" && chosen >= 0) {
        this.#openGroup(chosen);
      } else if (event.key === "Escape") {
        this.#choose(-1, "table");
      }
    });
    this.#fillPicture();
    leaveOutSmallFans(this.#part("fans"), this.#graph, (hidden) => this.#view?.hideEdges(hidden));
    Object.assign(stage, { graphView: this.#view }); // for tests
  }

  /**
   * Show another picture of the groups in place of the drawn graph.
   *
   * @param {GroupsPicture | null} other null: the drawn graph again
   */
  replacePicture(other) {
    if (other) {
      this.#store.set({ opened: [] });
    }
    this.#other = other;
    this.#fillPicture();
  }

  /** @returns {Acts["onDrag"]} for other pictures of the graph: a person drags a group out of its place */
  get onDrag() {
    return this.#acts.onDrag;
  }

  /** @param {import("../ui/svg-elements.js").Surface} surface with the size of the canvas */
  drawOn(surface) {
    (this.#other?.drawOn ? this.#other : this.#view)?.drawOn?.(surface);
  }

  /**
   * What the tip of a group says, for other pictures of the graph.
   *
   * @param {number} group
   * @param {number | null} [device] by default where it is
   * @param {readonly import("./colouring.js").Part[] | null} [parts] of one on several devices
   * @returns {Node[]}
   */
  tipOf(group, device, parts) {
    return groupTip(this.#known.detail(group, device, parts));
  }

  /**
   * Without devices: the kind whose times are shown.
   *
   * @param {string} kind
   */
  showKind(kind) {
    this.#known.useKind(kind);
    this.#paint();
    this.#table.sortAnew();
    this.#chosen.fill();
  }

  /**
   * @param {GraphState} state
   * @param {GraphState} before
   */
  #showFacts(state, before) {
    const chosen = chosenGroup(state);
    if (state.placed !== before.placed) {
      this.#table.show(this.#known.placement);
    }
    const isExplained = state.facts !== null && state.facts !== before.facts;
    if (isExplained && state.facts?.parts.size) {
      this.#table.refresh();
    }
    this.#paint();
    if (isExplained || state.placed?.placement[chosen] !== before.placed?.placement[chosen]) {
      this.#chosen.fill();
    }
  }

  /** Another picture shows other nodes. */
  repaint() {
    this.#paint();
  }

  #paint() {
    this.#colours.renew();
    const { key, facts, opCosts } = this.#colours;
    const painted = this.#other?.paint?.(key, facts, opCosts) ?? this.#colours.colouring;
    const { step, placement } = this.#colours.facts;
    const deviceOfNode = this.#colours.key === "device" ? (step?.deviceOfOp ?? null) : null;
    this.#shownPicture?.show({ ...painted, placement, deviceOfNode, cut: step?.cut });
    if (this.#scopes.path.length > 0) {
      this.#scopes.paint();
    } else {
      this.#colours.explain(painted);
    }
  }

  /** @returns {GroupsPicture | null} */
  get #shownPicture() {
    return this.#other ?? this.#view;
  }

  #fillPicture() {
    const { groups, locked } = this.#store.state;
    this.#paint();
    this.#shownPicture?.light(this.#table.found);
    this.#shownPicture?.choose(chosenGroup(this.#store.state), false);
    this.#view?.mark("selected", groups);
    this.#view?.mark("locked", locked);
  }

  /** The drawing that is shown: of an opened scope, or of the whole graph. */
  get #shownView() {
    return this.#scopes.path.length > 0 ? this.#scopes.view : this.#shownPicture;
  }

  #listenToTools() {
    const acts = {
      "zoom-in": () => this.#shownView?.zoom(true),
      "zoom-out": () => this.#shownView?.zoom(false),
      fit: () => this.#shownView?.fit(),
    };
    for (const [name, act] of Object.entries(acts)) {
      find(this.#root, `[data-graph=${name}]`, HTMLButtonElement).addEventListener("click", act);
    }
  }

  /**
   * @param {number} group -1 for none
   * @param {"graph" | "table"} from where it was chosen: the other view scrolls to it
   */
  #choose(group, from) {
    this.#store.set({ ...choice(this.#store.state, [group], from), ...(group >= 0 ? { opened: [] } : {}) });
  }

  /**
   * @param {readonly number[]} groups
   * @param {boolean} isMany whether they are added as a whole; else a selected one is taken out
   */
  #selectMore(groups, isMany) {
    if (!this.#acts.selectsMany) {
      this.#choose(groups.at(-1) ?? -1, "table");
      return;
    }
    const selected = this.#store.state.groups;
    const others = selected.filter((group) => !groups.includes(group));
    const takesOut = !isMany && groups.every((group) => selected.includes(group));
    this.#store.set(choice(this.#store.state, takesOut ? others : [...others, ...groups]));
  }

  /** @param {GraphState} state */
  #showChosen(state) {
    const { groups, chosenIn } = state;
    const chosen = chosenGroup(state);
    const isOne = groups.length <= 1;
    if (isOne && chosen >= 0 && String(chosen) !== this.#scopes.path[0]) {
      this.#store.set({ opened: [] }); // another group is looked at
    }
    this.#shownPicture?.choose(chosen, isOne && chosenIn !== "graph");
    this.#table.choose(chosen, isOne && chosenIn !== "table");
    this.#view?.mark("selected", groups);
    this.#table.mark("selected", groups);
    this.#tip.hide();
    this.#chosen.fill();
  }

  /**
   * @param {number} group -1 for none
   * @param {number} x pixels
   * @param {number} y pixels
   */
  #hover(group, x, y) {
    if (group < 0) {
      this.#tip.hide();
    } else {
      this.#tip.show(groupTip(this.#known.detail(group)), x, y);
    }
  }

  /** @param {string} name */
  #part(name) {
    return find(this.#root, `[data-part=${name}]`, HTMLElement);
  }
}
