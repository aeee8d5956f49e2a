/** The drawn graphs of a comparison: the differences alone, or both placements beside each other with one view. */

import { COLOURINGS } from "../graph/colouring.js";
import { deviceMark } from "../graph/device-legend.js";
import { GraphView, MOST_GROUPS_DRAWN } from "../graph/graph-view.js";
import { movePicture } from "../graph/move-picture.js";
import { element, find, setText } from "../ui/dom.js";
import { counted } from "../ui/format.js";
import { showFailure } from "../ui/server.js";
import { Tip } from "../ui/tip.js";

/** @typedef {"differences" | "sides"} Look */

export class ComparedGraphs {
  #host;
  #graph;
  #looks;
  #onChoose;
  #tipOf;
  #tip = new Tip();
  /** The device of each group in the drawn placements, by the names of their stages. @type {Record<string, ArrayLike<number>>} */
  #placements = {};
  /** @type {Promise<GraphView>[]} the shown placement's, and once both were wanted, the compared one's */
  #views = [];
  #chosen = -1;

  /**
   * @param {HTMLElement} host
   * @param {import("../ui/contracts.js").GroupGraph} graph
   * @param {import("../graph/devices.js").DeviceLook[]} looks
   * @param {(group: number) => void} onChoose -1 for none
   * @param {(group: number, device: number) => Node[]} tipOf what the tip of a group says
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
   * @param {{ words: string, placement: ArrayLike<number> }} compared
   * @param {{ words: string, placement: ArrayLike<number> }} shown
   */
  async show(look, { words, placement: before }, { words: shownWords, placement: after }) {
    this.#host.dataset.look = look;
    this.#placements = { before, after };
    if (this.#graph.groups.length > MOST_GROUPS_DRAWN) {
      const words = `${counted(this.#graph.groups.length, "group")} are too many to draw. The table lists the moved ones.`;
      this.#host.replaceChildren(element("p", { class: "hint" }, words));
      return;
    }
    try {
      this.#views[0] ??= this.#draw("after");
      const own = await this.#views[0];
      if (look === "differences") {
        const { picture, lit, litEdges } = movePicture(before, after, this.#looks, this.#graph.edges);
        own.show(picture);
        own.light(lit, litEdges);
      } else {
        own.show(this.#picture(after));
        own.light(null);
        setText(this.#title("after"), `Shown: ${shownWords}`);
        this.#views[1] ??= this.#draw("before", own);
        (await this.#views[1]).show(this.#picture(before));
        setText(this.#title("before"), `Compared: ${words}`);
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
   * @param {ArrayLike<number>} placement [groups]
   * @returns {import("../graph/graph-view.js").Picture}
   */
  #picture(placement) {
    const facts = { placement, looks: this.#looks, timeUs: null, bytes: [], step: null, gainShare: null, costs: null };
    return { ...COLOURINGS.device.colour(facts, placement.length), placement };
  }

  /**
   * @param {"before" | "after"} name
   * @param {HTMLElement} stage
   * @param {number} group -1 for none
   * @param {number} x pixels
   * @param {number} y pixels
   */
  #hover(name, stage, group, x, y) {
    if (group < 0) {
      this.#tip.hide();
      return;
    }
    const [before, after] = [this.#placements.before[group], this.#placements.after[group]];
    const from = before === after || this.#host.dataset.look === "sides" ? [] : [this.#fromWords(before)];
    stage.append(this.#tip.element);
    this.#tip.show([...this.#tipOf(group, this.#placements[name][group]), ...from], x, y);
  }

  /** @param {number} before device in the compared placement */
  #fromWords(before) {
    const look = this.#looks[before];
    return element("span", {}, "compared: ", ...(look ? [deviceMark(look), ` ${look.label}`] : ["several devices"]));
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
