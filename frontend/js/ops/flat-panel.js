/**
 * The choice between the pictures of the blocks, of the groups and of all ops, in the card of a graph. A graph with more
 * groups than Cytoscape draws smoothly has its groups in a flat picture too.
 */

import { BlocksPanel } from "../blocks/blocks-panel.js";
import { firstPicture } from "../blocks/first-picture.js";
import { GraphPanel } from "../graph/graph-panel.js";
import { choice, chosenGroup } from "../run/page-state.js";
import { MOST_GROUPS_DRAWN } from "../graph/graph-view.js";
import { element, find, setText } from "../ui/dom.js";
import { counted, cutName, formatTime } from "../ui/format.js";
import { LONGEST_TITLE, shownName, shownNames } from "../ui/names.js";
import { getBytes, getJson, ServerError, showFailure } from "../ui/server.js";
import { FlatGraph } from "./flat-graph.js";
import { FlatView } from "./flat-view.js";
import { OpsTable } from "./ops-table.js";
import { Tip } from "../ui/tip.js";

/** @typedef {import("../run/view.js").Drawn} Drawn */
/** @typedef {import("../step/step.js").OpNames} OpNames */

export class FlatPanel {
  #root;
  #panel;
  #groups;
  #looks;
  #store;
  #listsOps;
  #timeOf;
  #choice;
  /** @type {Map<Drawn, FlatView>} */
  #views = new Map();
  /** @type {Map<Drawn, Promise<FlatView>>} */
  #promises = new Map();
  /** @type {FlatGraph | null} of all ops */
  #graph = null;
  /** @type {OpNames | null} */
  #names = null;
  /** @type {OpsTable | null} */
  #table = null;
  /** @type {ArrayLike<number> | null} [ops] where groups are on several devices, once the step says so */
  #deviceOfNode = null;
  /** @type {BlocksPanel | null} */
  #blocks = null;
  /** @type {Promise<boolean> | null} whether the blocks have a drawing */
  #blocksLoaded = null;
  /** @type {Drawn | null} what was asked for last */
  #shown = null;
  /** Whether the blocks have none, so that the groups are shown. */
  #lacksBlocks = false;
  #tip = new Tip();
  #words = element("p", { class: "hint name flat-words", role: "status" });
  #list = element("div", { "data-part": "ops", hidden: true });

  /**
   * @param {HTMLElement} root of the page
   * @param {GraphPanel} panel
   * @param {readonly import("../ui/contracts.js").Group[]} groups
   * @param {readonly import("../graph/devices.js").DeviceLook[]} looks empty: the graph alone
   * @param {import("../graph/graph-state.js").GraphStore} store
   * @param {object} options
   * @param {boolean} options.listsOps whether this part lists the ops: the page has no table of its own
   * @param {(op: number) => number | null} [options.timeOf] an op's time at its device in µs; null: not known yet
   */
  constructor(root, panel, groups, looks, store, { listsOps, timeOf = () => null }) {
    this.#root = root;
    this.#panel = panel;
    this.#groups = groups;
    this.#looks = looks;
    this.#store = store;
    this.#listsOps = listsOps;
    this.#timeOf = timeOf;
    this.#choice = this.#part("drawn");
    this.#chosenPart.prepend(this.#words);
    this.#part("groups").after(this.#list);
    for (const button of this.#choice.querySelectorAll("button")) {
      button.addEventListener("click", () => store.set({ drawn: /** @type {Drawn} */ (button.dataset.drawn) }));
    }
    store.subscribe(["op"], (state) => this.#showChosenOp(state));
    store.subscribe(["placed", "facts"], ({ op }) => this.#showOp(op));
  }

  /** Draw what the page shows, from now on. */
  start() {
    this.#store.subscribe(["drawn"], () => this.#draw());
    this.#store.subscribe(["opened"], ({ opened }) => opened.length > 0 && this.#shown === "blocks" && this.#store.set({ drawn: "groups" }));
    return this.#draw();
  }

  /** @returns {Drawn} */
  get #drawn() {
    const { drawn: wish, opened } = this.#store.state;
    const drawn = wish || (this.#choice.hidden || opened.length > 0 ? "groups" : firstPicture(this.#groups));
    return drawn === "blocks" && this.#lacksBlocks ? "groups" : drawn;
  }

  async #draw() {
    const drawn = (this.#shown = this.#drawn);
    const begins = this.#views.size === 0 && !this.#stage.querySelector(":scope > .graph-canvas");
    for (const button of this.#choice.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(button.dataset.drawn === drawn));
    }
    this.#showParts();
    if (drawn === "blocks") {
      await this.#drawBlocks();
    } else if (drawn === "groups" && this.#groups.length <= MOST_GROUPS_DRAWN) {
      this.#panel.replacePicture(null);
      if (begins || !this.#stage.querySelector(":scope > .graph-canvas")) {
        await this.#panel.draw();
      }
    } else {
      await this.#drawFlat(drawn);
    }
  }

  async #drawBlocks() {
    const host = this.#hostOf("blocks");
    try {
      this.#blocks ??= this.#makeBlocks(host);
      this.#blocksLoaded ??= this.#blocks.load();
      const isDrawn = await this.#blocksLoaded;
      if (!isDrawn) {
        this.#lacksBlocks = true;
        await this.#draw();
      } else if (this.#drawn === "blocks") {
        this.#panel.replacePicture(this.#blocks.picture);
      }
    } catch (error) {
      this.#blocksLoaded = null;
      showFailure(host, "The blocks are not drawn here; the table lists the groups.", error, () => this.#draw());
    }
  }

  /** @param {HTMLElement} host */
  #makeBlocks(host) {
    const kind = this.#root.querySelector("select[data-part=kind]");
    const onDrag = this.#panel.onDrag ?? null;
    const blocks = new BlocksPanel(host, String(this.#choice.dataset.blocks), this.#groups, this.#looks, this.#store, kind instanceof HTMLSelectElement ? kind : null, {
      onDrag,
      onArrange: () => this.#panel.repaint(),
      onFailure: (words) => setText(blocks.words, words),
    });
    this.#chosenPart.prepend(blocks.words);
    host.setAttribute("role", "application");
    host.setAttribute("aria-label", "Blocks of the graph: layers and modules. The tables have the same content. Arrow keys go from block to block, Enter opens or closes the chosen one, Escape closes the one around it; plus and minus zoom, 0 shows all, Shift and arrow keys pan.");
    return blocks;
  }

  /** @param {Drawn} drawn */
  async #drawFlat(drawn) {
    try {
      const view = this.#views.get(drawn) ?? (await this.#making(drawn));
      if (this.#drawn === drawn) {
        this.#showParts();
        this.#panel.replacePicture(this.#pictureOf(drawn, view));
        Object.assign(this.#stage, { flatView: view }); // for tests
        await this.#showNames(drawn, view);
      }
    } catch (error) {
      const isTooLarge = error instanceof ServerError && error.status === 413;
      showFailure(this.#hostOf(drawn), `The ${drawn} are not drawn here; the table lists the groups.`, error, isTooLarge ? null : () => this.#draw());
      this.#showList(false);
    }
  }

  /**
   * The picture that is being made: one, however often a person asks for it.
   *
   * @param {Drawn} drawn
   * @returns {Promise<FlatView>}
   */
  #making(drawn) {
    const made = this.#promises.get(drawn) ?? this.#makeView(drawn).finally(() => this.#promises.delete(drawn));
    this.#promises.set(drawn, made);
    return made;
  }

  /**
   * @param {Drawn} drawn
   * @returns {Promise<FlatView>}
   */
  async #makeView(drawn) {
    const host = this.#hostOf(drawn);
    const graph = new FlatGraph(await getBytes(`${this.#choice.dataset.flat}${drawn}`));
    if (drawn === "ops") {
      this.#graph = graph;
    }
    this.#stage.append(this.#tip.element);
    host.setAttribute("aria-label", this.#label(drawn, graph));
    const view = new FlatView(host, graph, this.#groups.length, {
      onChoose: (node) => this.#choose(drawn, graph, node),
      onHover: (node, x, y) => this.#hover(drawn, graph, node, x, y),
    });
    this.#views.set(drawn, view);
    return view;
  }

  /**
   * @param {Drawn} drawn
   * @param {FlatGraph} graph
   */
  #label(drawn, graph) {
    const what = drawn === "ops" ? counted(graph.count, "op") : counted(graph.count, "group");
    return `All ${what}, in strips from left to right, the first one down, the next one up. The table has the same content. Arrow keys pan, plus and minus zoom, 0 shows all of it.`;
  }

  /**
   * @param {Drawn} drawn
   * @param {FlatView} view
   * @returns {import("../graph/graph-panel.js").GroupsPicture}
   */
  #pictureOf(drawn, view) {
    return {
      show: (picture) => {
        this.#deviceOfNode = (drawn === "ops" && picture.deviceOfNode) || null;
        view.show({ ...picture, deviceOfNode: this.#deviceOfNode });
      },
      light: (lit) => view.light(lit),
      choose: (group, reveal) => view.choose(group, reveal, drawn === "ops" ? this.#store.state.op : group),
      zoom: (closer) => view.zoom(closer),
      fit: () => view.fit(),
    };
  }

  /**
   * @param {Drawn} drawn
   * @param {FlatGraph} graph
   * @param {number} node -1 for none
   */
  #choose(drawn, graph, node) {
    const { state } = this.#store;
    const chosen = choice(state, [node < 0 ? -1 : graph.group[node]]);
    this.#store.set(drawn === "ops" ? { ...chosen, op: node } : chosen);
  }

  /** @param {import("../graph/graph-state.js").GraphState} state */
  #showChosenOp(state) {
    this.#showOp(state.op);
    if (this.#drawn === "ops") {
      this.#views.get("ops")?.choose(chosenGroup(state), state.op >= 0, state.op);
    }
  }

  /** @param {number} op -1 for none */
  #showOp(op) {
    this.#table?.choose(op);
    const isKnown = op >= 0 && this.#graph !== null;
    setText(this.#words, isKnown ? `${this.#opWords(op).join(" · ")}, ${this.#edgeWords(op)}` : "");
  }

  /** @param {number} group */
  #deviceOf(group) {
    return this.#store.state.placed?.placement[group] ?? -1;
  }

  /**
   * @param {number} op
   * @returns {string[]}
   */
  #opWords(op) {
    const graph = /** @type {FlatGraph} */ (this.#graph);
    const type = this.#names?.types[op];
    const group = this.#groups[graph.group[op]];
    const device = this.#looks[this.#deviceOfNode?.[op] ?? this.#deviceOf(group.id)];
    return [
      cutName((this.#names && shownNames(this.#names)[op]) ?? `op ${op}`, 120) + (type ? ` (${cutName(type, 40)})` : ""),
      timeWords(this.#timeOf(op), graph.timeUs[op], device?.label ?? ""),
      `in group ${cutName(shownName(group), 60)} of ${counted(group.ops, "op")}`,
    ];
  }

  /** @param {number} op */
  #edgeWords(op) {
    const graph = /** @type {FlatGraph} */ (this.#graph);
    const edges = graph.edgesOf(op);
    const inputs = edges.filter((edge) => graph.target[edge] === op).length;
    return `${counted(inputs, "edge")} in, ${edges.length - inputs} out`;
  }

  /**
   * @param {Drawn} drawn
   * @param {FlatGraph} graph
   * @param {number} node
   * @param {number} x pixels
   * @param {number} y pixels
   */
  #hover(drawn, graph, node, x, y) {
    if (node < 0) {
      this.#tip.hide();
      return;
    }
    if (drawn === "groups") {
      this.#tip.show(this.#panel.tipOf(graph.group[node]), x, y);
      return;
    }
    const [shown, whole] = [this.#names && shownNames(this.#names)[node], this.#names?.names[node]];
    const more = whole && whole !== shown ? [element("span", { class: "name tip-whole" }, cutName(whole, LONGEST_TITLE))] : [];
    const lines = this.#opWords(node);
    this.#tip.show([...lines.map((line) => element("span", { class: "name" }, line)), ...more], x, y);
  }

  /**
   * @param {Drawn} drawn
   * @param {FlatView} view
   */
  async #showNames(drawn, view) {
    if (drawn === "groups") {
      view.showNames(this.#groups.map(shownName));
      return;
    }
    if (!this.#names) {
      this.#names = /** @type {OpNames} */ (await getJson(String(this.#choice.dataset.names)));
      if (this.#listsOps) {
        this.#table = new OpsTable(this.#list, this.#names, (op) => this.#choose("ops", /** @type {FlatGraph} */ (this.#graph), op));
      }
    }
    view.showNames(shownNames(this.#names));
    this.#showOp(this.#store.state.op);
  }

  #showParts() {
    const isFlat = this.#drawn !== "groups" || this.#groups.length > MOST_GROUPS_DRAWN;
    this.#stage.querySelector(":scope > .graph-canvas")?.toggleAttribute("hidden", isFlat);
    for (const host of this.#stage.querySelectorAll(".flat-canvas")) {
      host.toggleAttribute("hidden", !isFlat || host.getAttribute("data-drawn") !== this.#drawn);
    }
    this.#tip.hide();
    this.#words.hidden = this.#drawn !== "ops";
    this.#blocks?.words.toggleAttribute("hidden", this.#drawn !== "blocks");
    this.#choice.closest("section")?.setAttribute("data-drawn", this.#drawn === "blocks" ? "blocks" : isFlat ? "flat" : "groups");
    this.#showList(this.#drawn === "ops" && this.#listsOps);
  }

  /** @param {boolean} isOfOps whether the table of ops takes the place of that of groups */
  #showList(isOfOps) {
    this.#list.hidden = !isOfOps;
    this.#part("groups").hidden = isOfOps;
    const heading = this.#part("groups").closest("section")?.querySelector("h2");
    if (heading) {
      setText(heading, isOfOps ? "Ops" : "Groups");
    }
  }

  /**
   * @param {Drawn} drawn
   * @returns {HTMLElement}
   */
  #hostOf(drawn) {
    const found = this.#stage.querySelector(`.flat-canvas[data-drawn=${drawn}]`);
    if (found instanceof HTMLElement) {
      return found;
    }
    const host = element("div", { class: "flat-canvas", "data-drawn": drawn, role: "img", tabindex: 0, "aria-label": "Loading…" });
    this.#stage.prepend(host);
    return host;
  }

  /** Where the page says what is chosen. */
  get #chosenPart() {
    return find(this.#root, ".inspected", HTMLElement);
  }

  get #stage() {
    return this.#part("canvas");
  }

  /** @param {string} name */
  #part(name) {
    return find(this.#root, `[data-part=${name}]`, HTMLElement);
  }
}

/**
 * @param {number | null} timeUs of an op at its device; null: not known yet
 * @param {number} mostUs its time on the slowest kind of device
 * @param {string} device empty: not known yet
 * @returns {string}
 */
function timeWords(timeUs, mostUs, device) {
  if (device === "") {
    return `at most ${formatTime(mostUs)}`;
  }
  return timeUs === null ? `on ${device}` : `${formatTime(timeUs)} on ${device}`;
}
