/**
 * A grouped graph with its tools: the canvas, its colours with their legend, zoom buttons, the tip, the panel of the
 * chosen group, and the table with the same selection. Used by the page of a graph and by the page of a run.
 */

import { element, find } from "../ui/dom.js";
import { counted, cutName, formatCount } from "../ui/format.js";
import { ColourChooser } from "./colour-chooser.js";
import { COLOURINGS, colouring, SPLIT } from "./colouring.js";
import { costFacts } from "./cost-facts.js";
import { DOUBLE_CLICK_MILLISECONDS, groupPanel, groupTip, selectionPanel } from "./group-details.js";
import { GroupsTable } from "./groups-table.js";
import { GraphView } from "./graph-view.js";
import { ScopePanel } from "./scope-panel.js";
import { checkedPath } from "./scope-path.js";
import { smallFans } from "./small-fans.js";
import { splitPlaces, timeOfParts } from "./split-places.js";
import { timeOfKind } from "./placement.js";
import { getJson, showFailure } from "../ui/server.js";
import { Tip } from "../ui/tip.js";

/** @typedef {import("../ui/contracts.js").Group} Group */

/** Groups with fans of small edges that are named. */
const FANS_NAMED = 3;

/** A group nearer than this to the panel is covered by it, or by the bar above it once the group is moved. */
const COVERED_PIXELS = 100;

/**
 * @typedef {object} Colours
 * @property {readonly string[]} keys of `COLOURINGS`, the first one is shown at first
 * @property {(fact: string) => void} [onNeed] called when the chosen one lacks facts of the shown placement
 * @property {(key: string) => void} [onChoose]
 * @property {import("./scope-panel.js").Surroundings["stepFactsOf"]} [stepFactsOf] facts of the items of an opened scope; null: not known yet
 * @property {(path: readonly string[]) => void} [onOpen] called when a person opens or closes a scope
 */

/**
 * @typedef {object} Acts what the page does with groups
 * @property {(group: number) => void} [onChoose] called with -1 for none
 * @property {(group: number, device: number | null) => Node | null} [extraOf] what the panel of a group gets beside its facts
 * @property {() => void} [onFill] called when the panel is filled: with other groups, or with new facts of the same ones
 * @property {(groups: readonly number[]) => void} [onSelect] called with several groups, or fewer again; without it, the
 *   page selects one at a time
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
 */

export class GraphPanel {
  #root;
  #graph;
  #devices;
  #looks;
  #table;
  /** @type {GraphView | null} */
  #view = null;
  /** @type {GroupsPicture | null} in place of the drawn graph */
  #other = null;
  /** @type {ArrayLike<number> | null} */
  #placement = null;
  #chosen = -1;
  /** With the chosen one, which is the last. @type {readonly number[]} */
  #selected = [];
  /** @type {readonly number[]} */
  #locked = [];
  /** @type {string | null} */
  #kind = null;
  #tip = new Tip();
  #edgeCounts;
  #acts;
  #colours;
  #chooser;
  #colour;
  /** @type {import("./colouring.js").Facts} */
  #facts;
  /** @type {Promise<import("../ui/contracts.js").OpCosts> | null} */
  #costs = null;
  /** @type {import("../ui/contracts.js").OpCosts | null} */
  #opCosts = null;
  #scopes;
  #panelTimer = 0;

  /**
   * @param {HTMLElement} root with `[data-part=canvas]`, `[data-part=groups]`, `[data-part=chosen]` and zoom buttons
   * @param {import("../ui/contracts.js").GroupGraph} graph
   * @param {readonly import("../ui/contracts.js").Device[]} devices empty: the graph alone
   * @param {import("./devices.js").DeviceLook[]} looks
   * @param {Colours} colours
   * @param {Acts} [acts]
   */
  constructor(root, graph, devices, looks, colours, acts = {}) {
    this.#acts = acts;
    this.#root = root;
    this.#graph = graph;
    this.#devices = devices;
    this.#looks = looks;
    this.#edgeCounts = countEdges(graph);
    this.#table = new GroupsTable(this.#part("groups"), graph.groups, {
      looks,
      timeOf: (group) => this.#timeOf(group),
      partsOf: (group) => this.#partsOf(group.id),
      onChoose: (group) => this.#choose(group, "table"),
      onSelect: (groups, isRange) => this.#selectMore(groups, isRange),
      onSearch: (found) => this.#shownPicture?.light(found),
    });
    this.#colours = colours;
    this.#colour = colours.keys[0];
    this.#facts = { placement: null, looks, timeUs: null, bytes: graph.groups.map((group) => group.output_bytes), step: null, gainShare: null, costs: null };
    this.#chooser = new ColourChooser(this.#part("colour"), this.#part("colour-legend"), colours.keys, (key) => {
      this.colourBy(key);
      colours.onChoose?.(key);
    });
    this.#scopes = new ScopePanel(this.#part("canvas"), graph.groups, {
      around: () => ({
        colour: this.#colour,
        facts: this.#facts,
        costs: this.#opCosts,
        stepFactsOf: colours.stepFactsOf,
        timeOf: (item, device) => this.#timeOn(item, device),
      }),
      onPath: (path) => {
        colours.onOpen?.(path);
        if (path.length === 0) {
          this.#paint();
        }
      },
      onPaint: (painted) => this.#chooser.show(this.#colour, painted),
    });
    this.#choose(-1, "table");
    this.#listenToTools();
  }

  /**
   * Show an opened scope in place of the whole graph.
   *
   * @param {readonly string[]} path `scope-path.js` describes it; empty, or one that leads nowhere: the whole graph
   */
  open(path) {
    this.#tip.hide();
    return this.#scopes.open(checkedPath(path, this.#graph.groups.length));
  }

  /** @param {number} group opened by a person */
  async #openGroup(group) {
    window.clearTimeout(this.#panelTimer);
    this.#fillPanel();
    const path = [String(group)];
    this.#colours.onOpen?.(path);
    await this.open(path);
    this.#scopes.focus();
  }

  /** Leave an opened scope: another group has been chosen. */
  #leaveScope() {
    if (this.#scopes.path.length > 0) {
      this.#colours.onOpen?.([]);
      this.open([]);
      this.#paint();
    }
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
      if (event.key === "Enter" && this.#chosen >= 0) {
        this.#openGroup(this.#chosen);
      } else if (event.key === "Escape") {
        this.#choose(-1, "table");
      }
    });
    this.#fillPicture();
    this.#hideFans();
    Object.assign(stage, { graphView: this.#view }); // for tests
  }

  /**
   * Show another picture of the groups in place of the drawn graph.
   *
   * @param {GroupsPicture | null} other null: the drawn graph again
   */
  replacePicture(other) {
    if (other) {
      this.#leaveScope();
    }
    this.#other = other;
    this.#fillPicture();
  }

  /**
   * Choose a group for another view.
   *
   * @param {number} group -1 for none
   */
  choose(group) {
    if (group !== this.#chosen || this.#selected.length > 1) {
      if (group >= 0 && String(group) !== this.#scopes.path[0]) {
        this.#leaveScope();
      }
      this.#chosen = group;
      this.#shownPicture?.choose(group, true);
      this.#table.choose(group, true);
      this.#markSelected(group < 0 ? [] : [group]);
      this.#fillPanel();
    }
  }

  /** @returns {readonly number[]} the selected groups; the last one is the chosen one */
  get selected() {
    return this.#selected;
  }

  /**
   * Select several groups, of which the last becomes the chosen one.
   *
   * @param {readonly number[]} groups
   */
  select(groups) {
    this.#chosen = groups.at(-1) ?? -1;
    this.#view?.choose(this.#chosen, false);
    this.#table.choose(this.#chosen, false);
    this.#markSelected(groups);
    this.#fillPanel();
  }

  /** @param {readonly number[]} groups that no move changes */
  lock(groups) {
    this.#locked = groups;
    this.#view?.mark("locked", groups);
    this.#table.mark("locked", groups);
    this.#fillPanel();
  }

  /**
   * Fade all groups but some, until the table is searched.
   *
   * @param {Uint8Array | null} lit [groups] 1: not faded. null: what the table's search has found
   */
  light(lit) {
    this.#view?.light(lit ?? this.#table.found);
  }

  /** Fill the panel of the chosen group again: what is added to it has changed. */
  refreshPanel() {
    this.#fillPanel();
  }

  /** @param {import("../ui/svg-elements.js").Surface} surface with the size of the canvas */
  drawOn(surface) {
    this.#view?.drawOn(surface);
  }

  /** @returns {number} the chosen group, -1 for none */
  get chosen() {
    return this.#chosen;
  }

  /** @param {ArrayLike<number> | null} placement [groups] */
  show(placement) {
    const before = this.#placement?.[this.#chosen];
    this.#placement = placement;
    this.#table.show(placement);
    this.#facts = { ...this.#facts, placement, timeUs: this.#times(), step: null, gainShare: null };
    this.#paint();
    if (placement?.[this.#chosen] !== before) {
      this.#fillPanel();
    }
  }

  /** @param {string} key of `COLOURINGS` */
  colourBy(key) {
    if (this.#colours.keys.includes(key)) {
      this.#colour = key;
      this.#paint();
      this.#askForFacts();
    }
  }

  /** @returns {string} what it is coloured by */
  get colour() {
    return this.#colour;
  }

  /** @param {Partial<import("./colouring.js").Facts>} facts of the shown placement */
  know(facts) {
    const hadParts = this.#facts.step !== null;
    this.#facts = { ...this.#facts, ...facts };
    if (!hadParts && this.#facts.step?.parts.size) {
      this.#facts.timeUs = this.#times();
      this.#table.refresh();
      this.#fillPanel();
    }
    this.#paint();
    this.#askForFacts();
  }

  #askForFacts() {
    for (const fact of COLOURINGS[this.#colour].needs) {
      if (this.#facts[fact] === null && fact === "costs") {
        this.#loadCosts();
      } else if (this.#facts[fact] === null) {
        this.#colours.onNeed?.(fact);
      }
    }
  }

  async #loadCosts() {
    try {
      this.#costs ??= /** @type {Promise<import("../ui/contracts.js").OpCosts>} */ (getJson(String(this.#part("colour").dataset.costs)));
      const costs = await this.#costs;
      this.#opCosts = costs;
      this.know({ costs: costFacts(costs, costs.groups, this.#graph.groups.length) });
    } catch (error) {
      this.#costs = null;
      this.cannotKnow(error);
    }
  }

  /** @param {unknown} error why the facts that the colour needs are not known */
  cannotKnow(error) {
    this.#chooser.fail(error instanceof Error ? error.message : String(error));
  }

  #paint() {
    const painted = colouring(this.#colour, this.#facts, this.#graph.groups.length);
    const deviceOfNode = this.#colour === "device" ? (this.#facts.step?.deviceOfOp ?? null) : null;
    this.#shownPicture?.show({ ...painted, placement: this.#placement, deviceOfNode, cut: this.#facts.step?.cut });
    if (this.#scopes.path.length > 0) {
      this.#scopes.paint();
    } else {
      this.#chooser.show(this.#colour, painted);
    }
  }

  /** @returns {(number | null)[] | null} [groups] */
  #times() {
    const known = this.#placement !== null || this.#kind !== null;
    return known ? this.#graph.groups.map((group) => this.#timeOf(group)) : null;
  }

  /**
   * Without devices: the kind whose times are shown.
   *
   * @param {string} kind
   */
  showKind(kind) {
    this.#kind = kind;
    this.#facts = { ...this.#facts, timeUs: this.#times() };
    this.#paint();
    this.#table.refresh();
    this.#fillPanel();
  }

  /** Leave out the small edges of wide fans, and say which they are, with a button that shows them. */
  #hideFans() {
    const { groups, edges } = this.#graph;
    const { hidden, nodes } = smallFans(edges, groups.length);
    const count = hidden.reduce((sum, isHidden) => sum + isHidden, 0);
    const part = this.#part("fans");
    part.hidden = count === 0;
    let isHiding = true;
    const button = element("button", { type: "button", class: "link-button" });
    const words = element("span");
    const show = () => {
      this.#view?.hideEdges(isHiding ? hidden : new Uint8Array(edges.length));
      const names = nodes.slice(0, FANS_NAMED).map((node) => cutName(groups[node].name, 40)).join(", ");
      const more = nodes.length > FANS_NAMED ? ` and ${formatCount(nodes.length - FANS_NAMED)} more` : "";
      words.textContent = `${counted(count, "small edge")} of ${names}${more} ${isHiding ? "not drawn" : "drawn"}. `;
      button.textContent = isHiding ? "Draw them" : "Leave them out";
    };
    button.addEventListener("click", () => {
      isHiding = !isHiding;
      show();
    });
    part.replaceChildren(words, button);
    show();
  }

  /** @returns {GroupsPicture | null} */
  get #shownPicture() {
    return this.#other ?? this.#view;
  }

  #fillPicture() {
    this.#paint();
    this.#shownPicture?.light(this.#table.found);
    this.#shownPicture?.choose(this.#chosen, false);
    this.#view?.mark("selected", this.#selected);
    this.#view?.mark("locked", this.#locked);
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
    if (group >= 0) {
      this.#leaveScope();
    }
    this.#chosen = group;
    this.#shownPicture?.choose(group, from === "table");
    this.#table.choose(group, from === "graph");
    this.#markSelected(group < 0 ? [] : [group]);
    window.clearTimeout(this.#panelTimer);
    if (from === "graph" && group >= 0) {
      this.#panelTimer = window.setTimeout(() => this.#fillPanelBeside(group), DOUBLE_CLICK_MILLISECONDS);
    } else {
      this.#fillPanel();
    }
    this.#acts.onChoose?.(group);
  }

  /**
   * @param {readonly number[]} groups
   * @param {boolean} isMany whether they are added as a whole; else a selected one is taken out
   */
  #selectMore(groups, isMany) {
    if (!this.#acts.onSelect) {
      this.#choose(groups.at(-1) ?? -1, "table");
      return;
    }
    const others = this.#selected.filter((group) => !groups.includes(group));
    const takesOut = !isMany && groups.every((group) => this.#selected.includes(group));
    this.#acts.onSelect(takesOut ? others : [...others, ...groups]);
  }

  /** @param {readonly number[]} groups */
  #markSelected(groups) {
    this.#selected = groups;
    this.#view?.mark("selected", groups);
    this.#table.mark("selected", groups);
  }

  /** @param {number} group that has been clicked: the page scrolls if the panel would cover it */
  #fillPanelBeside(group) {
    this.#tip.hide();
    this.#fillPanel();
    const view = this.#shownPicture === this.#view ? this.#view : null;
    const node = view ? this.#part("canvas").getBoundingClientRect().top + view.pixelOf(group).y + COVERED_PIXELS : -Infinity;
    const covered = node - this.#part("chosen").getBoundingClientRect().top;
    if (covered > 0) {
      window.scrollBy({ top: covered, behavior: "instant" });
    }
  }

  #fillPanel() {
    const chosen = this.#chosen;
    const close = () => this.#choose(-1, "table");
    const part = this.#part("chosen");
    const device = part.contains(document.activeElement) ? document.activeElement?.getAttribute("data-device") : null;
    const extra = chosen < 0 ? null : (this.#acts.extraOf?.(chosen, this.#placement?.[chosen] ?? null) ?? null);
    const details = this.#selected.map((group) => this.#detail(group));
    const several = () => selectionPanel(details, extra, close);
    const one = () => groupPanel({ ...this.#detail(chosen), extra }, close, () => this.#openGroup(chosen));
    this.#acts.onFill?.();
    part.replaceChildren(...(chosen < 0 ? [] : details.length > 1 ? several() : one()));
    const same = device && part.querySelector(`[data-device="${device}"]`);
    if (same instanceof HTMLElement) {
      same.focus({ preventScroll: true });
    }
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
      this.#tip.show(groupTip(this.#detail(group)), x, y);
    }
  }

  /**
   * What the tip of a group says, for other pictures of the graph.
   *
   * @param {number} group
   * @param {number} device
   * @param {readonly import("./colouring.js").Part[] | null} parts of one on several devices
   * @returns {Node[]}
   */
  tipOf(group, device, parts) {
    return groupTip(this.#detail(group, device, parts));
  }

  /**
   * @param {number} index
   * @param {number | null} device by default that of the shown placement
   * @param {readonly import("./colouring.js").Part[] | null} parts of one on several devices, by default there
   * @returns {import("./group-details.js").Detail}
   */
  #detail(index, device = this.#placement ? this.#placement[index] : null, parts = this.#partsOf(index)) {
    const group = this.#graph.groups[index];
    return {
      group,
      look: device === null ? null : (this.#looks[device] ?? null),
      timeUs: device === SPLIT && parts ? timeOfParts(parts) : this.#timeOn(group, device),
      split: device === SPLIT ? splitPlaces(parts, this.#looks, this.#acts.boundaryOf?.(index) ?? "") : null,
      edges: { inputs: this.#edgeCounts.inputs[index], outputs: this.#edgeCounts.outputs[index] },
    };
  }

  /**
   * @param {number} group
   * @returns {readonly import("./colouring.js").Part[] | null} null: it is not on several devices, or not known yet to be
   */
  #partsOf(group) {
    return (this.#placement?.[group] === SPLIT && this.#facts.step?.parts.get(group)) || null;
  }

  /**
   * Its time where it is.
   *
   * @param {Group} group
   * @returns {number | null}
   */
  #timeOf(group) {
    const parts = this.#partsOf(group.id);
    return parts ? timeOfParts(parts) : this.#timeOn(group, this.#placement?.[group.id] ?? null);
  }

  /**
   * @param {Group} group
   * @param {number | null} device
   * @returns {number | null}
   */
  #timeOn(group, device) {
    const kind = (device === null ? null : this.#devices[device]?.kind) ?? this.#kind;
    return kind === null ? null : timeOfKind(group, kind);
  }

  /** @param {string} name */
  #part(name) {
    return find(this.#root, `[data-part=${name}]`, HTMLElement);
  }
}

/** @param {import("../ui/contracts.js").GroupGraph} graph */
function countEdges(graph) {
  const inputs = new Array(graph.groups.length).fill(0);
  const outputs = new Array(graph.groups.length).fill(0);
  for (const { source, target } of graph.edges) {
    outputs[source] += 1;
    inputs[target] += 1;
  }
  return { inputs, outputs };
}
