/** The drawn graphs of a comparison: the differences alone, or both placements beside each other with one view. */

import { GraphView, MOST_GROUPS_DRAWN } from "../graph/graph-view.js";
import { movePicture, placedPicture } from "../graph/move-picture.js";
import { element, find, setText } from "../ui/dom.js";
import { counted } from "../ui/format.js";
import { showFailure } from "../ui/server.js";
import { Tip } from "../ui/tip.js";
import { placeLine } from "./compared-group.js";

/** @typedef {"differences" | "sides"} Look */
/** @typedef {import("./compared-group.js").Sides} Sides */

export class ComparedGraphs {
  #host;
  #graph;
  #looks;
  #onChoose;
  #tipOf;
  #tip = new Tip();
  /** The drawn placements, by the names of their stages. @type {Sides | null} */
  #sides = null;
  /** @type {ReadonlySet<number>} groups */
  #moved = new Set();
  /** @type {Promise<GraphView>[]} the shown placement's, and once both were wanted, the compared one's */
  #views = [];
  #chosen = -1;

  /**
   * @param {HTMLElement} host
   * @param {import("../ui/contracts.js").GroupGraph} graph
   * @param {import("../graph/devices.js").DeviceLook[]} looks
   * @param {(group: number) => void} onChoose -1 for none
   * @param {import("./compare-panel.js").Acts["tipOf"]} tipOf
   */
  constructor(host, graph, looks, onChoose, tipOf) {
    this.#host = host;
    this.#graph = graph;
    this.#looks = looks;
    this.#onChoose = onChoose;
    this.#tipOf = tipOf;
  }

  /**
   * @param {Look} look
   * @param {Sides} sides
   * @param {readonly import("./difference.js").Move[]} moves
   */
  async show(look, sides, moves) {
    const { before, after } = sides;
    this.#host.dataset.look = look;
    this.#sides = sides;
    this.#moved = new Set(moves.map(({ group }) => group));
    if (this.#graph.groups.length > MOST_GROUPS_DRAWN) {
      const words = `${counted(this.#graph.groups.length, "group")} are too many to draw. The table lists the moved ones.`;
      this.#host.replaceChildren(element("p", { class: "hint" }, words));
      return;
    }
    try {
      this.#views[0] ??= this.#draw("after");
      const own = await this.#views[0];
      if (look === "differences") {
        const { picture, lit, litEdges } = movePicture(before, after, moves, this.#looks, this.#graph.edges);
        own.show(picture);
        own.light(lit, litEdges);
      } else {
        own.show(placedPicture(after, this.#looks));
        own.light(null);
        setText(this.#title("after"), `Shown: ${after.words}`);
        this.#views[1] ??= this.#draw("before", own);
        (await this.#views[1]).show(placedPicture(before, this.#looks));
        setText(this.#title("before"), `Compared: ${before.words}`);
      }
    } catch (error) {
      this.#views = [];
      showFailure(this.#host, "The graph cannot be drawn here; the table has the same groups.", error, null);
    }
  }

  /** @param {number} group -1 for none */
  async choose(group) {
    this.#chosen = group;
    for (const [index, view] of (await Promise.allSettled(this.#views)).entries()) {
      if (view.status === "fulfilled") {
        view.value.choose(group, index === 0);
      }
    }
  }

  /** @param {(view: GraphView) => void} act on what is drawn */
  async each(act) {
    const [own] = await Promise.allSettled(this.#views);
    if (own?.status === "fulfilled") {
      act(own.value);
    }
  }

  /**
   * @param {"before" | "after"} name
   * @param {HTMLElement} stage
   * @param {number} group -1 for none
   * @param {number} x pixels
   * @param {number} y pixels
   */
  #hover(name, stage, group, x, y) {
    if (group < 0 || !this.#sides) {
      this.#tip.hide();
      return;
    }
    const { before, [name]: side } = this.#sides;
    const isSaid = this.#moved.has(group) && this.#host.dataset.look === "differences";
    const from = isSaid ? [element("span", {}, "compared: ", placeLine(before, group, this.#looks))] : [];
    stage.append(this.#tip.element);
    this.#tip.show([...this.#tipOf(group, side.placement[group], side.step?.parts.get(group) ?? null), ...from], x, y);
  }

  /** @param {"before" | "after"} name */
  #title(name) {
    return find(this.#host, `[data-stage=${name}] h3`, HTMLElement);
  }

  /**
   * @param {"before" | "after"} name
   * @param {GraphView | null} [twin]
   */
  async #draw(name, twin = null) {
    const words = name === "after" ? "The shown placement" : "The compared placement";
    const canvas = element("div", {
      class: "graph-canvas",
      role: "img",
      tabindex: 0,
      "aria-label": `${words}, drawn as a graph of ${counted(this.#graph.groups.length, "group")}. The table of moved groups has the same content. Arrow keys pan, plus and minus zoom, 0 shows all of it.`,
    });
    const stage = element("div", { class: "graph-stage" }, canvas);
    const figure = element("div", { class: "compare-stage", "data-stage": name }, element("h3", { class: "name" }), stage);
    if (name === "after") {
      this.#host.replaceChildren(figure);
    } else {
      this.#host.prepend(figure);
    }
    const listeners = { onChoose: (/** @type {number} */ group) => this.#onChoose(group), onHover: (/** @type {number} */ group, /** @type {number} */ x, /** @type {number} */ y) => this.#hover(name, stage, group, x, y) };
    const view = await GraphView.create(canvas, this.#graph, listeners, twin);
    view.choose(this.#chosen, false);
    Object.assign(stage, { graphView: view }); // for tests
    return view;
  }
}
