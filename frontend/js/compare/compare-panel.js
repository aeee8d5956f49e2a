/** The card that compares the shown placement with another one: what moved, and what it is worth. */

import { deviceMark } from "../graph/device-legend.js";
import { element, find, setText } from "../ui/dom.js";
import { counted, formatCount } from "../ui/format.js";
import { getJson, isGone, showFailure } from "../ui/server.js";
import { placementOfToken } from "../run/placements.js";
import { Step } from "../step/step.js";
import { askBacks, inOrder, MOST_UNASKED } from "./backs.js";
import { ComparedGraphs } from "./compared-graphs.js";
import { ComparedSteps } from "./compared-steps.js";
import { differenceSentence, movesBetween, pairsOf } from "./difference.js";
import { differenceTables } from "./difference-tables.js";
import { MovesTable } from "./moves-table.js";
import { loadReference, optionsOf, problemOf } from "./references.js";

/** @typedef {import("../run/placements.js").KnownPlacement} KnownPlacement */
/** @typedef {import("./references.js").OtherRun} OtherRun */
/** @typedef {import("./references.js").KeptPlacement} KeptPlacement */
/** @typedef {import("../run/run-state.js").RunState} RunState */

/**
 * @typedef {object} Shown
 * @property {string} words such as `episode 17`
 * @property {string | null} token null: no address names it
 * @property {ArrayLike<number>} placement [groups]
 *
 * @typedef {object} Acts
 * @property {(token: string | null) => void} onAgainst a person chose a placement to compare with
 * @property {(beside: boolean) => void} onBeside a person chose to see both beside each other, or the differences alone
 * @property {(group: number) => void} onChooseGroup -1 for none
 * @property {(reference: KnownPlacement) => Promise<ArrayBuffer>} loadStep
 * @property {import("./backs.js").Ask} askGains
 * @property {import("./compared-steps.js").Ops} ops
 */

/** A placement is compared once it has been shown for so long: not while the player runs past it. */
const SETTLED_MILLISECONDS = 150;
const [NUMBER, NOW] = ["number", "now"];

export class ComparePanel {
  #root;
  #graph;
  #looks;
  #methodLabels;
  #acts;
  #select;
  #number;
  #graphs;
  #table;
  /** @type {ComparedSteps | null} made when both are first seen beside each other */
  #steps = null;
  #beside = false;
  #timer = 0;
  /** @type {RunState | null} */
  #state = null;
  /** @type {OtherRun[]} */
  #others = [];
  #optionsKey = "";
  /** @type {string | null} */
  #token = null;
  /** @type {KeptPlacement[]} */
  #kept = [];
  /** @type {Map<string, KnownPlacement | null>} what the run itself does not have, by token; null: it is being loaded */
  #loaded = new Map();
  /** @type {Shown | null} */
  #shown = null;
  /** @type {Step | null} */
  #shownStep = null;
  /** @type {{ key: string, step: Promise<Step> } | null} */
  #before = null;
  #chosen = -1;
  /** Counts what is drawn: an answer for an earlier drawing is dropped. */
  #drawn = 0;

  /**
   * @param {HTMLElement} root the section with `[data-compare=…]`
   * @param {import("../ui/contracts.js").GroupGraph} graph
   * @param {import("../graph/devices.js").DeviceLook[]} looks
   * @param {Record<string, string>} methodLabels method → label
   * @param {Acts} acts
   */
  constructor(root, graph, looks, methodLabels, acts) {
    this.#root = root;
    this.#graph = graph;
    this.#looks = looks;
    this.#methodLabels = methodLabels;
    this.#acts = acts;
    this.#select = find(root, "[data-compare=against]", HTMLSelectElement);
    this.#number = find(root, "[data-compare=number] input", HTMLInputElement);
    const choose = (/** @type {number} */ group) => this.#choose(group);
    this.#graphs = new ComparedGraphs(this.#part("stages"), graph, looks, choose);
    this.#table = new MovesTable(this.#part("moves"), graph.groups, looks, (group) => this.#choose(group === this.#chosen ? -1 : group));
    this.#select.addEventListener("change", () => this.#onSelect());
    this.#select.addEventListener("blur", () => this.#fillSelect());
    this.#number.addEventListener("change", () => this.#acts.onAgainst(`episode-${this.#number.value}`));
    this.#listenToTools();
    this.#askOthersWhenSeen();
  }

  /** @param {RunState | null} state null: not all stored events are here yet */
  update(state) {
    const before = this.#reference?.key;
    this.#state = state;
    this.#fillSelect();
    if (this.#token && (!before || before !== this.#reference?.key)) {
      this.#renewSoon();
    }
  }

  /**
   * @param {string | null} token of the placement to compare with
   * @param {boolean} beside whether both are shown beside each other, not the differences alone
   */
  compareWith(token, beside) {
    this.#token = token;
    this.#beside = beside;
    this.#root.dataset.look = this.#look;
    for (const button of this.#root.querySelectorAll("[data-compare-look]")) {
      button.setAttribute("aria-pressed", String(button.getAttribute("data-compare-look") === this.#look));
    }
    this.#fillSelect();
    this.#renew();
  }

  /**
   * @param {Shown | null} shown
   * @param {Step | null} step of it, once it is known
   */
  show(shown, step) {
    this.#shown = shown;
    this.#shownStep = step;
    if (this.#token) {
      this.#renewSoon();
    }
  }

  /** @param {number} group that another view has chosen, -1 for none */
  chooseGroup(group) {
    if (group !== this.#chosen) {
      this.#chosen = group;
      this.#graphs.choose(group);
      this.#table.choose(group);
      this.#steps?.choose(group);
    }
  }

  /** @returns {import("./compared-graphs.js").Look} */
  get #look() {
    return this.#beside ? "sides" : "differences";
  }

  /** @param {number} group */
  #choose(group) {
    this.chooseGroup(group);
    this.#acts.onChooseGroup(group);
  }

  #renewSoon() {
    window.clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => this.#renew(), SETTLED_MILLISECONDS);
  }

  /** The placement to compare with, once it is known. */
  get #reference() {
    if (!this.#token || !this.#state) {
      return null;
    }
    return this.#loaded.get(this.#token) ?? placementOfToken(this.#token, this.#state, this.#methodLabels);
  }

  #renew() {
    window.clearTimeout(this.#timer);
    this.#timer = 0;
    if (!this.#token || !this.#state) {
      this.#say("");
      this.#root.dataset.state = this.#token ? "loading" : "none";
      return;
    }
    const reference = this.#reference;
    if (reference && this.#shown) {
      this.#say("");
      this.#draw(reference, this.#shown, this.#shownStep);
    } else if (!reference && /^(run|placement)-/.test(this.#token)) {
      this.#load(this.#token);
    } else if (!reference) {
      this.#fail(problemOf(this.#token, this.#state));
    }
  }

  /** @param {string} token */
  async #load(token) {
    this.#root.dataset.state = "loading";
    if (this.#loaded.has(token)) {
      return;
    }
    this.#loaded.set(token, null);
    /** @type {KnownPlacement | null} */
    let found = null;
    let problem = "This graph has no such placement on this cluster, or it has been deleted.";
    try {
      found = await loadReference(token, this.#addresses);
    } catch (error) {
      problem = isGone(error) ? problem : String(error instanceof Error ? error.message : error);
    }
    if (found) {
      this.#loaded.set(token, found);
      this.#fillSelect();
    } else {
      this.#loaded.delete(token);
    }
    if (token === this.#token) {
      found ? this.#renew() : this.#fail(problem);
    }
  }

  get #addresses() {
    return { others: String(this.#root.dataset.others), kept: String(this.#root.dataset.kept) };
  }

  /**
   * @param {KnownPlacement} reference
   * @param {Shown} shown
   * @param {Step | null} step
   */
  async #draw(reference, shown, step) {
    this.#drawn += 1;
    const drawn = this.#drawn;
    const moves = movesBetween(reference.placement, shown.placement);
    this.#root.dataset.state = "loading";
    this.#part("failure").replaceChildren();
    this.#table.show(moves);
    this.#table.choose(this.#chosen);
    this.#part("pairs").replaceChildren(...pairsOf(moves).map((pair) => this.#pair(pair)));
    setText(this.#part("moves-note"), "");
    this.#graphs.show(this.#look, reference, shown);
    this.#part("steps").hidden = !this.#beside;
    setText(this.#part("sentence"), this.#head(reference, shown, moves.length));
    if (!step) {
      return;
    }
    try {
      const before = await this.#stepOf(reference);
      if (drawn === this.#drawn) {
        this.#root.dataset.state = "ready";
        const words = moves.length === 0 ? "" : differenceSentence(moves, before, step);
        setText(this.#part("sentence"), `${this.#head(reference, shown, moves.length)} ${words}`.trim());
        this.#showSteps(before, step, [reference.words, shown.words]);
        this.#part("parts").replaceChildren(...differenceTables(before, step, this.#looks));
        await this.#showBacks(shown.placement, moves, step, drawn);
      }
    } catch (error) {
      if (drawn === this.#drawn) {
        this.#root.dataset.state = "failed";
        showFailure(this.#part("failure"), "The steps cannot be compared.", error, () => this.#renew());
      }
    }
  }

  /**
   * @param {KnownPlacement} reference
   * @param {Shown} shown
   * @param {number} moved groups
   */
  #head(reference, shown, moved) {
    return moved === 0
      ? `Every group is where it is in ${reference.words}.`
      : `From ${reference.words} to ${shown.words}:`;
  }

  /** @param {KnownPlacement} reference */
  #stepOf(reference) {
    if (this.#before?.key !== reference.key) {
      const step = this.#acts.loadStep(reference).then((bytes) => new Step(bytes));
      this.#before = { key: reference.key, step };
      step.catch(() => (this.#before = null));
    }
    return this.#before.step;
  }

  /**
   * @param {Step} before
   * @param {Step} after
   * @param {readonly [string, string]} words of both placements
   */
  #showSteps(before, after, words) {
    if (this.#beside) {
      this.#steps ??= new ComparedSteps(this.#part("steps"), this.#looks, this.#acts.ops, (group) => this.#choose(group));
      this.#steps.show(before, after, words);
      this.#steps.choose(this.#chosen);
    }
  }

  /**
   * @param {ArrayLike<number>} placement [groups]
   * @param {import("./difference.js").Move[]} moves
   * @param {Step} step of it
   * @param {number} drawn
   */
  async #showBacks(placement, moves, step, drawn) {
    const order = inOrder(moves, (group) => Math.max(0, ...Object.values(this.#graph.groups[group].time_us)));
    const ask = async (/** @type {import("./difference.js").Move[]} */ wanted) =>
      askBacks(this.#acts.askGains, placement, wanted, (backs) => {
        if (drawn === this.#drawn) {
          this.#table.showBacks(backs, step.stepTimeUs);
          this.#noteBacks(backs.size, order.length, () => ask(order));
        }
        return drawn === this.#drawn;
      });
    await ask(order.slice(0, MOST_UNASKED));
  }

  /**
   * @param {number} known
   * @param {number} all
   * @param {() => void} askAll
   */
  #noteBacks(known, all, askAll) {
    const note = this.#part("moves-note");
    if (known < all) {
      const words = `The ${formatCount(known)} longest of ${counted(all, "moved group")} are simulated. `;
      const button = element("button", { type: "button", class: "link-button" }, "Simulate all");
      button.addEventListener("click", askAll);
      note.replaceChildren(words, button);
    } else {
      setText(note, all > 1 ? "Each row is simulated on its own: moves act on each other, so the changes do not add up." : "");
    }
  }

  /** @param {{ from: number, to: number, count: number }} pair */
  #pair({ from, to, count }) {
    const words = (/** @type {number} */ device) => {
      const look = this.#looks[device];
      return look ? [deviceMark(look), ` ${look.label}`] : ["several devices"];
    };
    return element("li", { "data-from": from, "data-to": to }, ...words(from), " → ", ...words(to), `: ${counted(count, "group")}`);
  }

  #fillSelect() {
    if (!this.#state || document.activeElement === this.#select) {
      return; // an open list stays as it is
    }
    const groups = optionsOf(this.#state, this.#others, this.#kept, this.#methodLabels);
    const key = JSON.stringify([groups, this.#token, this.#loaded.get(this.#token ?? "")?.words]);
    if (key === this.#optionsKey) {
      return;
    }
    this.#optionsKey = key;
    const made = groups.map(({ label, options }) => {
      const group = element("optgroup", { label });
      group.append(...options.map(({ token, words }) => element("option", { value: token }, words)));
      return group;
    });
    const more = element("optgroup", { label: "Episodes" });
    more.append(element("option", { value: NOW }, "The one shown now"), element("option", { value: NUMBER }, "By number…"));
    this.#select.replaceChildren(element("option", { value: "" }, "nothing"), ...made, more);
    const episode = /^episode-(\d+)$/.exec(this.#token ?? "")?.[1];
    const number = find(this.#root, "[data-compare=number]", HTMLElement);
    number.hidden = !episode;
    if (episode) {
      this.#number.value = episode;
    }
    this.#select.value = episode ? NUMBER : (this.#token ?? "");
    if (this.#select.selectedIndex < 0) {
      this.#select.prepend(element("option", { value: String(this.#token) }, this.#loaded.get(this.#token ?? "")?.words ?? "…"));
      this.#select.selectedIndex = 0;
    }
  }

  #onSelect() {
    const { value } = this.#select;
    if (value === NUMBER) {
      find(this.#root, "[data-compare=number]", HTMLElement).hidden = false;
      this.#number.focus();
      return;
    }
    if (value !== NOW) {
      this.#acts.onAgainst(value || null);
    } else if (this.#shown) {
      this.#acts.onAgainst(this.#shown.token ?? this.#freeze(this.#shown));
    }
  }

  /**
   * Keep a placement that no address names, until the page is left.
   *
   * @param {Shown} shown
   */
  #freeze({ words, placement }) {
    const [token, key] = ["hand", `hand ${this.#drawn}`];
    const fixed = { stepTimeUs: null, feasible: true, explanation: "", episodeIndex: -1 };
    this.#loaded.set(token, { token, key, words: `${words} as it was`, placement: Array.from(placement), ...fixed });
    return token;
  }

  #askOthersWhenSeen() {
    const seen = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) {
        seen.disconnect();
        this.#askOthers();
      }
    }, { rootMargin: "400px" });
    seen.observe(this.#root);
  }

  async #askOthers() {
    try {
      const { others, kept } = this.#addresses;
      if (!others) {
        return; // a page that shows its run alone
      }
      const [ofRuns, ofHand] = await Promise.all([getJson(others), getJson(kept)]);
      this.#others = /** @type {{ runs: OtherRun[] }} */ (ofRuns).runs;
      this.#kept = /** @type {{ placements: KeptPlacement[] }} */ (ofHand).placements;
      this.#fillSelect();
    } catch {
      this.#askOthersWhenSeen();
    }
  }

  #listenToTools() {
    for (const button of this.#root.querySelectorAll("[data-compare-look]")) {
      button.addEventListener("click", () => this.#acts.onBeside(button.getAttribute("data-compare-look") === "sides"));
    }
    /** @type {Record<string, (view: import("../graph/graph-view.js").GraphView) => void>} */
    const acts = { "zoom-in": (view) => view.zoom(true), "zoom-out": (view) => view.zoom(false), fit: (view) => view.fit() };
    for (const [name, act] of Object.entries(acts)) {
      find(this.#part("tools"), `[data-graph=${name}]`, HTMLButtonElement).addEventListener("click", () => this.#graphs.each(act));
    }
  }

  /** @param {string} problem why there is nothing to compare with */
  #fail(problem) {
    this.#say(problem);
    this.#root.dataset.state = "none";
  }

  /** @param {string} problem */
  #say(problem) {
    const part = this.#part("problem");
    part.hidden = problem === "";
    setText(part, problem);
  }

  /** @param {string} name */
  #part(name) {
    return find(this.#root, `[data-compare=${name}]`, HTMLElement);
  }
}
