/**
 * An opened group or name scope in place of the whole graph: its scopes and ops as a drawing or as a list, and the way back
 * above them. The facts of the chosen one stand where those of a chosen group do.
 */

import { element } from "../ui/dom.js";
import { counted, cutName, formatBytes } from "../ui/format.js";
import { LONGEST_TITLE } from "../ui/names.js";
import { getJson, showFailure } from "../ui/server.js";
import { colouring, SPLIT } from "./colouring.js";
import { costFacts } from "./cost-facts.js";
import { groupPanel, groupTip } from "./group-details.js";
import { GroupsTable } from "./groups-table.js";
import { GraphView } from "./graph-view.js";
import { crumbsOf, scopeAddress } from "./scope-path.js";
import { splitPlaces, timeOfParts } from "./split-places.js";
import { Tip } from "../ui/tip.js";

/** @typedef {import("../ui/contracts.js").ScopeGraph} ScopeGraph */

/**
 * @typedef {object} Surroundings what is known around the opened scope
 * @property {string} colour
 * @property {import("./colouring.js").Facts} facts of the groups
 * @property {import("../ui/contracts.js").OpCosts | null} costs
 * @property {((nodeOfOp: ArrayLike<number>, count: number) => import("./colouring.js").StepFacts | null) | undefined} stepFactsOf
 * @property {(group: import("../ui/contracts.js").Group, device: number | null) => number | null} timeOf
 */

export class ScopePanel {
  #stage;
  #address;
  #groups;
  #around;
  #onPath;
  #onPaint;
  #bar = element("nav", { class: "scope-bar", "aria-label": "Opened scopes", hidden: true });
  #body = element("div", { class: "scope-body", hidden: true });
  #tip = new Tip();
  #details;
  /** @type {readonly string[]} */
  #path = [];
  /** Until what is opened is drawn. */
  #opening = Promise.resolve();
  /** @type {ScopeGraph | null} */
  #scope = null;
  /** @type {ArrayLike<number> | null} [items] */
  #placement = null;
  /** Of the items on several devices. @type {ReadonlyMap<number, readonly import("./colouring.js").Part[]>} */
  #parts = new Map();
  /** @type {Int32Array} [ops of the graph] the item of each, -1 for none */
  #itemOfOp = new Int32Array(0);
  /** @type {GraphView | null} */
  #view = null;
  /** @type {GroupsTable | null} */
  #table = null;
  #wantsList = false;
  #chosen = -1;

  /**
   * @param {HTMLElement} stage `data-scope`: the address of `scope.json`
   * @param {HTMLElement} details where the facts of the chosen one stand
   * @param {readonly import("../ui/contracts.js").Group[]} groups
   * @param {object} options
   * @param {() => Surroundings} options.around
   * @param {(path: readonly string[]) => void} options.onPath called when a person opens or closes a scope
   * @param {(colouring: import("./colouring.js").Colouring) => void} options.onPaint called with what the legend shows
   */
  constructor(stage, details, groups, { around, onPath, onPaint }) {
    this.#stage = stage;
    this.#details = details;
    this.#address = String(stage.dataset.scope);
    this.#groups = groups;
    this.#around = around;
    this.#onPath = onPath;
    this.#onPaint = onPaint;
    this.#body.addEventListener("keydown", (event) => this.#onKey(event));
    stage.prepend(this.#bar, this.#body);
  }

  /** @returns {readonly string[]} empty while the whole graph is shown */
  get path() {
    return this.#path;
  }

  /** @returns {GraphView | null} the drawing, if one is shown */
  get view() {
    return this.#view;
  }

  /**
   * Show an opened scope.
   *
   * @param {readonly string[]} path empty: the whole graph
   * @returns {Promise<void>} until it is drawn
   */
  open(path) {
    if (path.join("\n") !== this.#path.join("\n")) {
      this.#path = path;
      this.#clear();
      this.#bar.hidden = this.#body.hidden = path.length === 0;
      this.#stage.classList.toggle("is-opened", path.length > 0);
      this.#opening = path.length > 0 ? this.#load(path) : Promise.resolve();
    }
    return this.#opening;
  }

  /** @param {readonly string[]} path */
  async #load(path) {
    this.#drawBar();
    try {
      const scope = /** @type {ScopeGraph} */ (await getJson(scopeAddress(this.#address, path)));
      if (path === this.#path) {
        this.#scope = scope;
        this.#itemOfOp = new Int32Array((scope.ops.at(-1) ?? -1) + 1).fill(-1);
        scope.ops.forEach((op, index) => {
          this.#itemOfOp[op] = scope.item_of_op[index];
        });
        await this.#draw();
      }
    } catch (error) {
      if (path === this.#path) {
        showFailure(this.#body, "This scope cannot be opened.", error, () => this.#load(path));
      }
    }
  }

  async #draw() {
    const scope = /** @type {ScopeGraph} */ (this.#scope);
    this.#body.replaceChildren();
    this.#forget();
    this.#drawBar();
    if (this.#wantsList || !scope.is_drawn) {
      this.#drawList(scope);
    } else {
      await this.#drawGraph(scope);
    }
    this.paint();
  }

  /** @param {ScopeGraph} scope */
  #drawList(scope) {
    const host = element("div", { class: "scope-list" });
    if (!scope.is_drawn) {
      const text = `${counted(scope.groups.length, "scope or op", "scopes and ops")} are too many for a readable drawing; this is their list.`;
      host.append(element("p", { class: "hint" }, text));
    }
    const rows = element("div");
    host.append(rows);
    this.#body.append(host);
    this.#table = new GroupsTable(rows, scope.groups, {
      words: { search: "scopes, ops", row: "row", column: "Scope or op" },
      looks: this.#around().facts.looks,
      timeOf: (item) => this.#timeOf(item),
      partsOf: (item) => this.#parts.get(item.id) ?? null,
      onChoose: (item) => this.#choose(item),
      onSearch: () => {},
    });
  }

  /** @param {ScopeGraph} scope */
  async #drawGraph(scope) {
    const label = `${counted(scope.groups.length, "scope or op", "scopes and ops")} of the opened scope. "As a list" has the same content. Enter opens the chosen one, Escape goes back.`;
    const host = element("div", { class: "graph-canvas", role: "img", tabindex: 0, "aria-label": label });
    this.#body.append(host, this.#tip.element);
    const view = await GraphView.create(host, scope, {
      onChoose: (item) => this.#choose(item),
      onHover: (item, x, y) => this.#hover(item, x, y),
      onOpen: (item) => this.#openItem(item),
    });
    if (scope === this.#scope && host.isConnected) {
      this.#view = view;
      Object.assign(this.#stage, { scopeView: view }); // for tests
    } else {
      view.destroy();
    }
  }

  #forget() {
    this.#view?.destroy();
    this.#view = this.#table = null;
  }

  /** Colour the items as the groups are. */
  paint() {
    const scope = this.#scope;
    if (!scope) {
      return;
    }
    const { colour, facts, costs, stepFactsOf } = this.#around();
    const count = scope.groups.length;
    const group = Number(this.#path[0]);
    const step = facts.step ? (stepFactsOf?.(this.#itemOfOp, count) ?? null) : null;
    const device = facts.placement?.[group] ?? null;
    const placement = device === null ? null : (step?.deviceOf ?? new Int32Array(count).fill(device));
    this.#placement = placement;
    this.#parts = step?.parts ?? new Map();
    const painted = colouring(
      colour,
      {
        ...facts,
        placement,
        timeUs: scope.groups.map((item) => this.#timeOf(item)),
        bytes: scope.groups.map((item) => item.output_bytes),
        step,
        gainShare: facts.gainShare && new Array(count).fill(facts.gainShare[group]),
        costs: costs && costFacts(costs, this.#itemOfOp, count),
      },
      count,
    );
    this.#view?.show({ ...painted, placement, cut: step?.cut });
    this.#table?.show(placement);
    this.#table?.refresh();
    this.#onPaint(painted);
  }

  /** @param {number} item -1 for none */
  #choose(item) {
    this.#chosen = item;
    this.#view?.choose(item, false);
    this.#table?.choose(item, false);
    this.#fillDetails();
  }

  #fillDetails() {
    const [item, scope] = [this.#chosen, this.#scope];
    if (item < 0 || !scope) {
      this.#details.replaceChildren();
      return;
    }
    const open = scope.opens[item] === null ? null : () => this.#openItem(item);
    this.#details.replaceChildren(...groupPanel(this.#detail(item), () => this.#choose(-1), open));
  }

  /** @param {number} item */
  #openItem(item) {
    const opens = this.#scope?.opens[item];
    if (opens) {
      this.#go([...this.#path, opens]);
    }
  }

  /** @param {readonly string[]} path where a person goes */
  async #go(path) {
    this.#onPath(path);
    await this.open(path);
    this.focus();
  }

  /** Move the focus to what is shown. */
  focus() {
    const target = this.#body.querySelector(".graph-canvas, input") ?? this.#stage.querySelector(":scope > .graph-canvas");
    if (target instanceof HTMLElement) {
      target.focus({ preventScroll: true });
    }
  }

  /**
   * @param {number} item -1 for none
   * @param {number} x pixels
   * @param {number} y pixels
   */
  #hover(item, x, y) {
    if (item < 0) {
      this.#tip.hide();
    } else {
      this.#tip.show(groupTip(this.#detail(item)), x, y);
    }
  }

  /**
   * @param {number} item
   * @returns {import("./group-details.js").Detail}
   */
  #detail(item) {
    const scope = /** @type {ScopeGraph} */ (this.#scope);
    const { looks } = this.#around().facts;
    const device = this.#placement?.[item] ?? null;
    return {
      group: scope.groups[item],
      look: device === null ? null : (looks[device] ?? null),
      timeUs: this.#timeOf(scope.groups[item]),
      split: device === SPLIT ? splitPlaces(this.#parts.get(item) ?? null, looks, "") : null,
      edges: {
        inputs: scope.edges.filter(({ target }) => target === item).length,
        outputs: scope.edges.filter(({ source }) => source === item).length,
      },
      outside: `${formatBytes(scope.inputs[item])} in, ${formatBytes(scope.outputs[item])} out`,
    };
  }

  /** @param {import("../ui/contracts.js").Group} item */
  #timeOf(item) {
    const parts = this.#parts.get(item.id);
    return parts ? timeOfParts(parts) : this.#around().timeOf(item, this.#placement?.[item.id] ?? null);
  }

  #drawBar() {
    const crumbs = crumbsOf(this.#path, this.#groups, this.#scope?.short_scopes);
    const items = crumbs.map(({ words, title: whole, path }, index) => {
      const name = cutName(words, 40);
      const title = whole ? cutName(whole, LONGEST_TITLE) : null;
      if (index === crumbs.length - 1) {
        return element("li", { "aria-current": "location", title }, name);
      }
      const button = element("button", { type: "button", class: "link-button name", title }, name);
      button.addEventListener("click", () => this.#go(path));
      return element("li", {}, button);
    });
    const list = element("button", { type: "button", class: "button is-quiet", "aria-pressed": String(this.#wantsList) }, "As a list");
    list.hidden = this.#scope?.is_drawn === false;
    list.addEventListener("click", () => {
      this.#wantsList = !this.#wantsList;
      this.#choose(-1);
      this.#draw();
    });
    this.#bar.replaceChildren(element("ol", { class: "name" }, ...items), list);
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const isTyping = event.target instanceof HTMLInputElement;
    if (event.key === "Escape" && !isTyping) {
      event.stopPropagation();
      if (this.#chosen >= 0) {
        this.#choose(-1);
      } else {
        this.#go(this.#path.slice(0, -1));
      }
    } else if (event.key === "Enter" && this.#chosen >= 0 && event.target === this.#body.querySelector(".graph-canvas")) {
      this.#openItem(this.#chosen);
    }
  }

  #clear() {
    this.#scope = null;
    this.#forget();
    this.#chosen = -1;
    this.#details.replaceChildren();
    this.#body.replaceChildren();
  }
}
