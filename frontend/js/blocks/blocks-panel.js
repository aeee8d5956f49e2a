/**
 * The picture of the blocks of a graph, its layers and modules: it asks the server for a block once a person opens it, adds
 * up what the block's ops take where the shown placement has them, and lets groups be chosen and moved by blocks.
 */

import { colouring } from "../graph/colouring.js";
import { costFacts } from "../graph/cost-facts.js";
import { choice, chosenGroup } from "../run/page-state.js";
import { chainTimes, nodeFacts } from "../step/node-facts.js";
import { element, setText } from "../ui/dom.js";
import { counted, cutName, formatBytes, formatShares, formatTime } from "../ui/format.js";
import { getBytes, getJson } from "../ui/server.js";
import { Tip } from "../ui/tip.js";
import { bundlesOf, crossingBytes } from "./block-edges.js";
import { BlockGraph } from "./block-graph.js";
import { mainLook, membersOf, sharesOf, timesOf } from "./block-shares.js";
import { BlockTree, groupsOf, leafOfOps, ROOT } from "./block-tree.js";
import { BlocksView } from "./blocks-view.js";

/** @typedef {import("./block-tree.js").BlockNode} BlockNode */
/** @typedef {import("./block-picture.js").BlockFace} BlockFace */
/** @typedef {import("../graph/graph-view.js").Picture} Picture */
/** @typedef {import("../ui/contracts.js").OpenBlock} OpenBlock */

/**
 * @typedef {object} BlockActs
 * @property {((group: number, event: PointerEvent) => void) | null} onDrag the chosen groups are dragged, of which this is one; null: they cannot be
 * @property {() => void} onArrange other blocks are seen
 * @property {(words: string) => void} onFailure a block cannot be opened
 */

const LEAST_CHAIN_US = 1e-6;
/** Colours by which a block has stripes. */
const STRIPED = Object.freeze(["device", "gain"]);

export class BlocksPanel {
  #host;
  #address;
  #groups;
  #looks;
  #store;
  #acts;
  #kindChoice;
  #tip = new Tip();
  /** What is said of the chosen block. */
  words = element("p", { class: "name block-words", role: "status" });
  /** @type {BlockGraph | null} */
  #graph = null;
  /** @type {BlockTree | null} */
  #tree = null;
  /** @type {BlocksView | null} */
  #view = null;
  /** @type {Picture} */
  #picture = { looks: [], lookOf: [], placement: null };
  /** @type {ArrayLike<number> | null} */
  #lit = null;
  /** @type {BlockNode[]} */
  #leaves = [];
  /** @type {Int32Array} */
  #leafOf = new Int32Array(0);
  /** @type {import("./block-edges.js").Bundles | null} */
  #bundles = null;
  /** @type {Map<number, BlockFace>} */
  #faces = new Map();
  /** @type {ArrayLike<number> | null} [leaves] null: they have stripes of their groups' looks */
  #lookOfLeaf = null;
  /** Of the shown placement, [ops]. @type {{ deviceOf: ArrayLike<number> | null, timeUs: ArrayLike<number> }} */
  #known = { deviceOf: null, timeUs: [] };
  /** @type {number | null} the chosen block */
  #chosen = null;
  /** Whether a choice is this picture's own. */
  #isOwn = false;

  /**
   * @param {HTMLElement} host
   * @param {string} address what the numbers of blocks, and `ops`, are below
   * @param {readonly import("../ui/contracts.js").Group[]} groups
   * @param {readonly import("../graph/devices.js").DeviceLook[]} looks empty: the graph alone
   * @param {import("../graph/graph-state.js").GraphStore} store
   * @param {HTMLSelectElement | null} kindChoice without devices: the kind whose times are shown
   * @param {BlockActs} acts
   */
  constructor(host, address, groups, looks, store, kindChoice, acts) {
    this.#host = host;
    this.#address = address;
    this.#groups = groups;
    this.#looks = looks;
    this.#store = store;
    this.#kindChoice = kindChoice;
    this.#acts = acts;
  }

  /**
   * Load the graph and the blocks that are open.
   *
   * @returns {Promise<boolean>} whether there is a drawing: not of a graph with too many blocks side by side
   */
  async load() {
    const open = this.#store.state.blocks;
    const [bytes, root, ...opened] = await Promise.all([getBytes(`${this.#address}ops`), this.#ask(ROOT), ...open.map((block) => this.#ask(block).catch(() => null))]);
    if (!root.is_drawn) {
      return false;
    }
    this.#graph = new BlockGraph(bytes);
    this.#tree = new BlockTree(root);
    opened.forEach((each) => each && this.#tree?.know(each));
    this.#host.after(this.#tip.element);
    this.#view = new BlocksView(this.#host, {
      onChoose: (node, adds) => this.#choose(node, adds),
      onHover: (node, x, y) => this.#hover(node, x, y),
      onToggle: (node) => this.#toggle(node),
      onDrag: this.#acts.onDrag && ((node, event) => this.#drag(node, event)),
    });
    this.#arrange(null);
    this.#store.subscribe(["blocks"], () => this.#follow());
    Object.assign(this.#host, { blocksView: this.#view, blockTree: this.#tree }); // for tests
    return true;
  }

  /** @returns {import("../graph/graph-panel.js").GroupsPicture} */
  get picture() {
    return {
      paint: (key, facts, costs) => this.#colour(key, facts, costs),
      show: (picture) => {
        this.#picture = picture;
        this.#paint();
      },
      light: (lit) => {
        this.#lit = lit;
        this.#paint();
      },
      choose: (group, reveal) => this.#showChosen(group, reveal),
      zoom: (closer) => this.#view?.zoom(closer),
      fit: () => this.#view?.fit(),
      drawOn: (surface) => this.#view?.drawOn(surface),
    };
  }

  /**
   * @param {number} block
   * @returns {Promise<OpenBlock>}
   */
  async #ask(block) {
    return /** @type {OpenBlock} */ (await getJson(`${this.#address}${block}`));
  }

  /** @param {BlockNode} node */
  async #toggle(node) {
    this.#tip.hide();
    const open = this.#store.state.blocks;
    const block = Number(node.row.block);
    if (node.children.length > 0) {
      const inside = new Set(this.#tree?.open.filter((each) => each !== block && isIn(this.#tree?.node(each) ?? null, block)));
      this.#store.set({ blocks: open.filter((each) => each !== block && !inside.has(each)) });
      return;
    }
    const opened = await this.#learnDown(block);
    if (opened.length > 0) {
      this.#store.set({ blocks: [...open.filter((each) => !opened.includes(each)), ...opened].sort((one, other) => one - other) });
    }
  }

  /**
   * Ask for a block, and for the one in it where there is nothing else.
   *
   * @param {number} block
   * @returns {Promise<number[]>} what is to be opened; empty: nothing can be
   */
  async #learnDown(block) {
    if (!(await this.#learn([block]))) {
      return [];
    }
    const inside = this.#tree?.rowsOf(block) ?? [];
    const only = inside.length === 1 ? inside[0].block : null;
    return only === null ? [block] : [block, ...(await this.#learnDown(only))];
  }

  /**
   * @param {readonly number[]} blocks to ask for, unless they are known
   * @returns {Promise<boolean>} whether all have a drawing
   */
  async #learn(blocks) {
    const tree = /** @type {BlockTree} */ (this.#tree);
    try {
      const asked = await Promise.all(blocks.filter((block) => !tree.knows(block)).map((block) => this.#ask(block)));
      asked.forEach((each) => tree.know(each));
      const tooLarge = asked.find((each) => !each.is_drawn);
      if (tooLarge) {
        this.#acts.onFailure("This block has too much in it for a drawing; All ops draws it.");
      }
      return !tooLarge;
    } catch (error) {
      this.#acts.onFailure(`This block cannot be opened: ${error instanceof Error ? error.message : error}`);
      return false;
    }
  }

  /** The open blocks have changed: by a person here, or by the page's address. */
  async #follow() {
    const { blocks } = this.#store.state;
    const tree = /** @type {BlockTree} */ (this.#tree);
    const before = new Set(tree.open);
    if (!(await this.#learn(blocks)) && blocks.some((block) => !tree.knows(block))) {
      return;
    }
    const changed = [...blocks.filter((block) => !before.has(block)), ...[...before].filter((block) => !blocks.includes(block))];
    if (changed.length > 0) {
      this.#arrange(changed[0]);
    }
  }

  /** @param {number | null} toggled */
  #arrange(toggled) {
    const [tree, graph] = [/** @type {BlockTree} */ (this.#tree), /** @type {BlockGraph} */ (this.#graph)];
    tree.show(this.#store.state.blocks);
    this.#leaves = tree.leaves();
    this.#leafOf = leafOfOps(this.#leaves, graph.order);
    this.#bundles = bundlesOf(graph, this.#leafOf, this.#leaves.length);
    if (toggled !== null && this.#chosen !== null && !tree.node(this.#chosen)) {
      this.#chosen = toggled; // what was chosen is in the closed block
    }
    this.#view?.arrange(tree.roots, tree.nodes, toggled);
    if (this.#chosen !== null) {
      this.#view?.choose(this.#chosen, false);
    }
    this.#acts.onArrange();
  }

  /**
   * Colours by what closed blocks and ops are themselves, for the legend; by device, and by gains that groups alone have,
   * a block has a stripe for each look of its groups.
   *
   * @param {string} key
   * @param {import("../graph/colouring.js").Facts} facts of the groups
   * @param {import("../ui/contracts.js").OpCosts | null} costs
   * @returns {import("../graph/colouring.js").Colouring | null}
   */
  #colour(key, facts, costs) {
    const graph = this.#graph;
    this.#lookOfLeaf = null;
    if (!graph || STRIPED.includes(key)) {
      return null;
    }
    const [leaves, step] = [this.#leaves, facts.step && this.#step];
    const timeUs = this.#timesOf(graph, this.#deviceOfOps(graph, facts.placement));
    const painted = colouring(
      key,
      {
        ...facts,
        timeUs: facts.timeUs && timesOf(leaves, graph.order, timeUs),
        bytes: leaves.map(({ row }) => row.output_bytes),
        step: step && nodeFacts(step, this.#leafOf, leaves.length),
        costs: costs && costFacts(costs, this.#leafOf, leaves.length),
      },
      leaves.length,
    );
    this.#lookOfLeaf = painted.lookOf;
    return painted;
  }

  /** Colours, times and crossing edges of the shown placement. */
  #paint() {
    const { graph, tree, view, bundles } = { graph: this.#graph, tree: this.#tree, view: this.#view, bundles: this.#bundles };
    if (!graph || !tree || !view || !bundles) {
      return;
    }
    const deviceOf = this.#deviceOfOps(graph, this.#picture.placement);
    const timeUs = this.#timesOf(graph, deviceOf);
    this.#known = { deviceOf, timeUs };
    const lookOf = this.#looksOfOps(graph);
    const nodes = [...tree.nodes];
    const times = timesOf(nodes, graph.order, timeUs);
    const shares = this.#sharesOf(nodes, graph.order, lookOf, timeUs);
    const devices = deviceOf ? sharesOf(nodes, graph.order, deviceOf, timeUs, this.#looks.length) : null;
    const chain = this.#chainOf(nodes);
    const marked = this.#markedOf(nodes, graph);
    this.#faces = new Map(nodes.map((node, index) => {
      const members = this.#lookOfLeaf ? [] : membersOf(node);
      const mains = members.length > 0 ? sharesOf(members, graph.order, lookOf, timeUs, this.#picture.looks.length).map(mainLook) : [];
      return [node.key, {
        shares: shares[index],
        members: mains,
        time: formatTime(times[index]),
        places: devices ? deviceWords(devices[index], this.#looks) : counted(node.row.ops, "op"),
        more: [chain && chain[index] > LEAST_CHAIN_US ? `critical ${formatTime(chain[index])}` : "", bytesWords(node)].filter(Boolean),
        isCritical: chain !== null && chain[index] > LEAST_CHAIN_US,
        isFaded: this.#lit !== null && !this.#holds(node, graph, this.#lit),
        isChosen: node.key === this.#chosen,
        isMarked: marked[index],
      }];
    }));
    view.show({
      looks: this.#picture.looks,
      faceOf: ({ key }) => /** @type {BlockFace} */ (this.#faces.get(key)),
      bundles,
      crossing: deviceOf ? crossingBytes(graph, bundles, deviceOf) : new Float64Array(bundles.bytes.length).fill(-1),
      leaves: this.#leaves,
    });
    this.#sayChosen();
  }

  /**
   * @param {readonly BlockNode[]} nodes
   * @param {ArrayLike<number>} order
   * @param {ArrayLike<number>} lookOf [ops]
   * @param {ArrayLike<number>} timeUs [ops]
   */
  #sharesOf(nodes, order, lookOf, timeUs) {
    const own = this.#lookOfLeaf;
    if (!own) {
      return sharesOf(nodes, order, lookOf, timeUs, this.#picture.looks.length);
    }
    const leafOf = new Map(this.#leaves.map(({ key }, leaf) => [key, leaf]));
    return nodes.map(({ key }) => {
      const leaf = leafOf.get(key);
      return leaf === undefined ? [] : [{ look: own[leaf], share: 1, timeUs: 0 }];
    });
  }

  /**
   * @param {BlockGraph} graph
   * @param {ArrayLike<number> | null} placement [groups]
   */
  #deviceOfOps(graph, placement) {
    if (!placement) {
      return null;
    }
    const step = this.#step;
    const known = step?.array("op.device") ?? null;
    return Int32Array.from(graph.group, (group, op) => (placement[group] >= 0 ? placement[group] : Math.max(0, known?.[op] ?? 0)));
  }

  /** @param {BlockGraph} graph */
  #looksOfOps(graph) {
    const { lookOf, deviceOfNode } = this.#picture;
    if (this.#lookOfLeaf) {
      return []; // leaves have looks of their own
    }
    return deviceOfNode ?? Int32Array.from(graph.group, (group) => lookOf[group] ?? 0);
  }

  /**
   * @param {BlockGraph} graph
   * @param {ArrayLike<number> | null} deviceOf [ops]
   * @returns {ArrayLike<number>} [ops]
   */
  #timesOf(graph, deviceOf) {
    if (!deviceOf) {
      return graph.timesOn(this.#kindChoice?.value ?? graph.kinds[0]);
    }
    const times = this.#looks.map(({ kind }) => graph.timesOn(kind));
    return Float64Array.from(deviceOf, (device, op) => times[device]?.[op] ?? 0);
  }

  /** @returns {import("../step/step.js").Step | null} of the shown placement, on the page of a run */
  get #step() {
    return /** @type {Partial<import("../step/step-state.js").StepState>} */ (this.#store.state).step ?? null;
  }

  /**
   * @param {readonly BlockNode[]} nodes
   * @returns {Float64Array | null} [nodes] their times on the critical chain
   */
  #chainOf(nodes) {
    const step = this.#step;
    if (!step) {
      return null;
    }
    const ofLeaf = chainTimes(step, this.#leafOf, this.#leaves.length);
    const index = new Map(this.#leaves.map((leaf, place) => [leaf.key, ofLeaf[place]]));
    const sums = new Map(index);
    for (const node of [...nodes].reverse()) {
      if (node.parent) {
        sums.set(node.parent.key, (sums.get(node.parent.key) ?? 0) + (sums.get(node.key) ?? 0));
      }
    }
    return Float64Array.from(nodes, ({ key }) => sums.get(key) ?? 0);
  }

  /**
   * @param {readonly BlockNode[]} nodes
   * @param {BlockGraph} graph
   * @returns {boolean[]} [nodes] whether it is closed and has ops of a chosen group
   */
  #markedOf(nodes, graph) {
    const { groups } = this.#store.state;
    if (groups.length === 0 || this.#chosen !== null) {
      return nodes.map(() => false);
    }
    const isChosen = new Uint8Array(this.#groups.length);
    groups.forEach((group) => (isChosen[group] = 1));
    return nodes.map((node) => node.children.length === 0 && this.#holds(node, graph, isChosen));
  }

  /**
   * @param {BlockNode} node
   * @param {BlockGraph} graph
   * @param {ArrayLike<number>} wanted [groups]
   */
  #holds({ first, end }, { order, group }, wanted) {
    for (let place = first; place < end; place += 1) {
      if (wanted[group[order[place]]]) {
        return true;
      }
    }
    return false;
  }

  /**
   * @param {BlockNode | null} node null for none
   * @param {boolean} adds
   */
  #choose(node, adds) {
    const { state } = this.#store;
    const found = node && this.#graph ? groupsOf(node, this.#graph, this.#groups).own : [];
    const groups = adds ? [...state.groups.filter((group) => !found.includes(group)), ...found] : found;
    this.#chosen = node?.key ?? null;
    this.#isOwn = true;
    this.#store.set({ ...choice(state, groups), ...(node?.row.op != null ? { op: node.row.op } : {}) });
    this.#isOwn = false;
    this.#view?.choose(this.#chosen, false);
    this.#paint();
  }

  /**
   * @param {number} group -1 for none
   * @param {boolean} reveal
   */
  #showChosen(group, reveal) {
    const [graph, node] = [this.#graph, this.#chosen === null ? null : this.#tree?.node(this.#chosen)];
    if (!graph || this.#isOwn) {
      return;
    }
    const isSame = node && this.#store.state.groups.every((each) => groupsOf(node, graph, this.#groups).own.includes(each));
    if (!isSame || group < 0) {
      this.#chosen = null;
    }
    const first = graph.group.indexOf(group);
    const key = this.#chosen ?? (first >= 0 ? (this.#leaves[this.#leafOf[first]]?.key ?? null) : null);
    this.#view?.choose(group < 0 ? null : key, reveal && group >= 0);
    this.#paint();
  }

  /**
   * @param {BlockNode} node
   * @param {PointerEvent} event
   */
  #drag(node, event) {
    this.#tip.hide();
    if (node.key !== this.#chosen) {
      this.#choose(node, false);
    }
    const group = chosenGroup(this.#store.state);
    if (group >= 0) {
      this.#acts.onDrag?.(group, event);
    }
  }

  /**
   * @param {BlockNode | null} node
   * @param {number} x pixels
   * @param {number} y pixels
   */
  #hover(node, x, y) {
    if (!node || (node.children.length > 0 && node.key !== this.#chosen)) {
      this.#tip.hide();
      return;
    }
    this.#tip.show(this.#lines(node, true).map((line) => element("p", { class: "name" }, line)), x, y);
  }

  #sayChosen() {
    const node = this.#chosen === null ? null : this.#tree?.node(this.#chosen);
    setText(this.words, node ? this.#lines(node, false).join(" · ") : "");
  }

  /**
   * What is said of a block or op.
   *
   * @param {BlockNode} node
   * @param {boolean} withTypes
   * @returns {string[]}
   */
  #lines(node, withTypes) {
    const { row } = node;
    const face = this.#faces.get(node.key);
    const graph = /** @type {BlockGraph} */ (this.#graph);
    const { own, others } = groupsOf(node, graph, this.#groups);
    const { deviceOf, timeUs } = this.#known;
    const [shares] = deviceOf ? sharesOf([node], graph.order, deviceOf, timeUs, this.#looks.length) : [[]];
    const percent = formatShares(shares.map(({ share }) => share));
    const places = shares.map(({ look }, index) => `${this.#looks[look]?.label}${shares.length > 1 ? ` ${percent[index]}` : ""}`).join(", ");
    const what = row.members > 0 ? `${row.members} equal parts of ${counted(row.ops / row.members, "op")}` : row.block === null ? (row.types[0]?.[0] ?? "op") : counted(row.ops, "op");
    const kinds = row.block === null || !withTypes ? [] : [row.types.map(([type, count]) => `${count} ${cutName(type, 30)}`).join(", ")];
    const reach = others > 0 ? `, and ops of ${counted(others, "other group")}` : "";
    return [
      `${cutName(row.whole_name, 120)} (${cutName(what, 60)})`,
      `${face?.time}${places ? `, on ${places}` : ""}`,
      ...kinds,
      bytesWords(node),
      ...(face?.isCritical ? [face.more[0]] : []),
      `${counted(own.length, "group")}${reach}`,
    ].filter(Boolean);
  }
}

/** @param {BlockNode} node */
function bytesWords({ row }) {
  const weights = row.persistent_bytes > 0 ? `${formatBytes(row.persistent_bytes)} held` : "";
  return [row.output_bytes > 0 ? `${formatBytes(row.output_bytes)} out` : "", weights].filter(Boolean).join(", ");
}

/**
 * @param {readonly import("./block-shares.js").Share[]} shares
 * @param {readonly import("../graph/devices.js").DeviceLook[]} looks
 */
function deviceWords(shares, looks) {
  return shares.length === 1 ? (looks[shares[0].look]?.label ?? "") : `${shares.length} devices`;
}

/**
 * @param {BlockNode | null} node
 * @param {number} key
 */
function isIn(node, key) {
  for (let each = node?.parent ?? null; each; each = each.parent) {
    if (each.key === key) {
      return true;
    }
  }
  return false;
}
