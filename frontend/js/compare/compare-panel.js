/** The card that compares the shown placement with another one: what moved, and what it is worth. */

import { choice, chosenGroup } from "../run/page-state.js";
import { element, find, setText } from "../ui/dom.js";
import { counted, formatCount } from "../ui/format.js";
import { isRefusal, showFailure } from "../ui/server.js";
import { SettledTimer } from "../ui/settled-timer.js";
import { Step } from "../step/step.js";
import { askBacks, inOrder, MOST_UNASKED } from "./backs.js";
import { CompareChoice, optionsOf } from "./compare-choice.js";
import { comparedGroup, sideOf } from "./compared-group.js";
import { ComparedGraphs } from "./compared-graphs.js";
import { ComparedSteps } from "./compared-steps.js";
import { differenceSentence, mayMoveInside, movesBetween, movesInside, pairsOf } from "./difference.js";
import { differenceTables } from "./difference-tables.js";
import { isDrawnAlike } from "./drawn-comparison.js";
import { movePair, MovesTable } from "./moves-table.js";
import { References } from "./references.js";

/** @typedef {import("../run/placements.js").KnownPlacement} KnownPlacement */
/** @typedef {import("../run/run-state.js").RunState} RunState */

/**
 * @typedef {object} Shown
 * @property {string} words such as `episode 17`
 * @property {string} token
 * @property {ArrayLike<number>} placement [groups]
 * @property {string} base as `KnownPlacement` has it
 *
 * @typedef {object} Acts
 * @property {number} lastSeq of the events that were stored when the page was opened: before them nothing is compared
 * @property {(reference: KnownPlacement) => Promise<ArrayBuffer>} loadStep
 * @property {import("./backs.js").Ask | null} askGains null: a file, with no server to ask
 * @property {import("./compared-steps.js").Ops} ops
 * @property {(group: number, device: number, parts: readonly import("../graph/colouring.js").Part[] | null) => Node[]} tipOf what the
 *   tip of a group says; parts of one on several devices
 */

/** A placement is compared once it has been shown for so long: not while the player runs past it. */
const SETTLED_MILLISECONDS = 150;

export class ComparePanel {
  #root;
  #graph;
  #looks;
  #methodLabels;
  #kept;
  #store;
  #current;
  #acts;
  #choice;
  #references;
  #graphs;
  #table;
  /** @type {ComparedSteps | null} made when both are first seen beside each other */
  #steps = null;
  #timer = new SettledTimer();
  /** @type {{ key: string, step: Promise<Step> } | null} */
  #before = null;
  /** What was compared last. @type {import("./compared-group.js").Sides | null} */
  #sides = null;
  /** The key of the placement to compare with, when the run was last looked at. @type {string | undefined} */
  #known = undefined;
  /** Counts what is drawn: an answer for an earlier drawing is dropped. */
  #drawn = 0;
  /** What is drawn, or being drawn; null: nothing, or the drawing failed. @type {import("./drawn-comparison.js").Drawn | null} */
  #last = null;

  /**
   * @param {HTMLElement} root the section with `[data-compare=…]`
   * @param {import("../ui/contracts.js").GroupGraph} graph
   * @param {import("../graph/devices.js").DeviceLook[]} looks
   * @param {Record<string, string>} methodLabels method → label
   * @param {import("../run/kept-placements.js").KeptPlacements} kept
   * @param {import("../step/step-state.js").StepStore} store
   * @param {import("../run/shown-placement.js").ShownPlacement} current
   * @param {Acts} acts
   */
  constructor(root, graph, looks, methodLabels, kept, store, current, acts) {
    this.#root = root;
    this.#graph = graph;
    this.#looks = looks;
    this.#methodLabels = methodLabels;
    this.#kept = kept;
    this.#store = store;
    this.#current = current;
    this.#acts = acts;
    this.#references = new References(String(root.dataset.others), looks.length, methodLabels, kept, () => this.#onReferences());
    this.#choice = new CompareChoice(root, (against) => store.set({ against }), () => this.#freeze());
    this.#graphs = new ComparedGraphs(this.#part("stages"), graph, looks, (group) => this.#choose(group), acts.tipOf);
    this.#table = new MovesTable(this.#part("moves"), graph.groups, looks, (group) => this.#choose(group === this.#chosen ? -1 : group), acts.askGains !== null);
    this.#listenToTools();
    this.#askOthersWhenSeen();
    store.subscribe(["run", "kept"], () => this.#onPlacements());
    store.subscribe(["against", "beside"], () => this.#compare());
    store.subscribe(["placed", "step", "kept"], () => this.#token && this.#renewSoon());
    store.subscribe(["groups"], () => this.#showChosen());
  }

  /** @returns {RunState | null} null: not all stored events are here yet */
  get #state() {
    const { run } = this.#store.state;
    return run && run.lastSeq >= this.#acts.lastSeq ? run : null;
  }

  /** @returns {string | null} of the placement to compare with */
  get #token() {
    return this.#store.state.against;
  }

  get #chosen() {
    return chosenGroup(this.#store.state);
  }

  /** More is known of the run, or of the kept placements. */
  #onPlacements() {
    this.#fillChoice();
    if (this.#token && (!this.#known || this.#known !== this.#reference?.key)) {
      this.#renewSoon();
    }
    this.#known = this.#reference?.key;
  }

  #onReferences() {
    this.#fillChoice();
    if (this.#token) {
      this.#renewSoon();
    }
  }

  #compare() {
    this.#references.retry(this.#token ?? "");
    this.#root.dataset.look = this.#look;
    for (const button of this.#root.querySelectorAll("[data-compare-look]")) {
      button.setAttribute("aria-pressed", String(button.getAttribute("data-compare-look") === this.#look));
    }
    this.#fillChoice();
    this.#renew();
  }

  #showChosen() {
    this.#graphs.choose(this.#chosen);
    this.#table.choose(this.#chosen);
    this.#steps?.choose(this.#chosen);
    this.#fillChosen();
  }

  /** @returns {import("./compared-graphs.js").Look} */
  get #look() {
    return this.#store.state.beside ? "sides" : "differences";
  }

  /** @param {number} group */
  #choose(group) {
    this.#store.set(choice(this.#store.state, [group]));
  }

  #renewSoon() {
    this.#timer.start(SETTLED_MILLISECONDS, () => this.#renew());
  }

  /** The placement to compare with, once it is known. */
  get #reference() {
    return this.#token && this.#state ? this.#references.known(this.#token, this.#state) : null;
  }

  #renew() {
    this.#timer.stop();
    if (!this.#token || !this.#state) {
      this.#say("");
      this.#drawNothing(this.#token ? "loading" : "none");
      return;
    }
    const reference = this.#reference;
    const shown = this.#current.compared;
    if (reference && shown) {
      this.#say("");
      this.#drawIfOther({ reference, shown, step: this.#store.state.step, beside: this.#store.state.beside });
    } else if (!reference && this.#references.isLoading(this.#token)) {
      this.#drawNothing("loading");
    } else if (!reference) {
      this.#say(this.#references.problemOf(this.#token, this.#state));
      this.#drawNothing("none");
    }
  }

  /** @param {"loading" | "none"} state why nothing is drawn */
  #drawNothing(state) {
    this.#drawn += 1;
    this.#last = null;
    this.#root.dataset.state = state;
  }

  /** @param {import("./drawn-comparison.js").Drawn} next */
  #drawIfOther(next) {
    if (!isDrawnAlike(this.#last, next)) {
      this.#last = next;
      this.#draw(next.reference, next.shown, next.step);
    }
  }

  /**
   * @param {KnownPlacement} reference
   * @param {Shown} shown
   * @param {Step | null} step
   */
  async #draw(reference, shown, step) {
    this.#drawn += 1;
    const drawn = this.#drawn;
    const between = movesBetween(reference.placement, shown.placement);
    const mayBeMore = mayMoveInside(reference.placement, shown.placement);
    const { groupOfOp } = this.#acts.ops;
    const sides = { before: sideOf(reference, null, groupOfOp), after: sideOf(shown, null, groupOfOp) };
    this.#root.dataset.state = "loading";
    this.#part("failure").replaceChildren();
    this.#showMoves(between, sides);
    setText(this.#part("count"), `${formatCount(between.length)}${mayBeMore ? " or more" : ""}`);
    setText(this.#part("moves-note"), "");
    this.#part("steps").hidden = !this.#store.state.beside;
    setText(this.#part("sentence"), this.#head(reference, shown, between.length > 0 || mayBeMore));
    if (!step) {
      return;
    }
    try {
      const before = await this.#stepOf(reference);
      if (drawn === this.#drawn) {
        this.#root.dataset.state = "ready";
        const inside = mayBeMore ? this.#movesInside(reference, shown, before, step) : [];
        const moves = [...between, ...inside];
        const known = { before: sideOf(reference, before, groupOfOp), after: sideOf(shown, step, groupOfOp) };
        if (known.before.step || known.after.step) {
          this.#showMoves(moves, known);
        }
        const words = moves.length === 0 ? "" : differenceSentence(moves, before, step);
        setText(this.#part("sentence"), `${this.#head(reference, shown, moves.length > 0)} ${words}`.trim());
        this.#showSteps(before, step, [reference.words, shown.words]);
        this.#part("parts").replaceChildren(...differenceTables(before, step, this.#looks));
        await this.#showBacks(shown.placement, moves, step, drawn);
      }
    } catch (error) {
      if (drawn === this.#drawn) {
        this.#last = null;
        this.#root.dataset.state = "failed";
        showFailure(this.#part("failure"), "The steps cannot be compared.", error, isRefusal(error) ? null : () => this.#renew());
      }
    }
  }

  /**
   * @param {readonly import("./difference.js").Move[]} moves
   * @param {import("./compared-group.js").Sides} sides
   */
  #showMoves(moves, sides) {
    this.#sides = sides;
    this.#graphs.show(this.#look, sides, moves);
    this.#table.show(moves, sides);
    this.#table.choose(this.#chosen);
    setText(this.#part("count"), formatCount(moves.length));
    this.#part("pairs").replaceChildren(...pairsOf(moves).map((pair) => movePair(pair, this.#looks)));
    this.#fillChosen();
  }

  /** Say where the chosen group is on both sides. */
  #fillChosen() {
    const [group, sides] = [this.#graph.groups[this.#chosen], this.#sides];
    this.#part("chosen").replaceChildren(...(group && sides ? comparedGroup(group, sides, this.#looks, this.#acts.ops) : []));
  }

  /**
   * @param {KnownPlacement} reference
   * @param {Shown} shown
   * @param {Step} before
   * @param {Step} after
   */
  #movesInside(reference, shown, before, after) {
    const deviceOfOp = { before: before.array("op.device"), after: after.array("op.device") };
    return movesInside({ before: reference.placement, after: shown.placement }, deviceOfOp, (op) => this.#acts.ops.groupOf(op));
  }

  /**
   * @param {KnownPlacement} reference
   * @param {Shown} shown
   * @param {boolean} differ whether they may
   */
  #head(reference, shown, differ) {
    return differ ? `From ${reference.words} to ${shown.words}:` : `Every group is where it is in ${reference.words}.`;
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
    if (this.#store.state.beside) {
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
    const { askGains } = this.#acts;
    if (!askGains) {
      return;
    }
    const order = inOrder(moves, (group) => Math.max(0, ...Object.values(this.#graph.groups[group].time_us)));
    const ask = async (/** @type {import("./difference.js").Move[]} */ wanted) =>
      askBacks(askGains, placement, wanted, (backs) => {
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

  #fillChoice() {
    if (this.#state) {
      const groups = optionsOf(this.#state, this.#references.others, this.#kept.rows, this.#methodLabels);
      this.#choice.show(groups, this.#token ? { token: this.#token, words: this.#reference?.words ?? "" } : null);
    }
  }

  /** Compare with what is shown now, whatever is shown later. */
  #freeze() {
    const shown = this.#current.compared;
    if (shown) {
      this.#store.set({ against: shown.token });
    }
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
      await this.#references.loadOthers();
    } catch {
      this.#askOthersWhenSeen();
    }
  }

  #listenToTools() {
    for (const button of this.#root.querySelectorAll("[data-compare-look]")) {
      button.addEventListener("click", () => this.#store.set({ beside: button.getAttribute("data-compare-look") === "sides" }));
    }
    /** @type {Record<string, (view: import("../graph/graph-view.js").GraphView) => void>} */
    const acts = { "zoom-in": (view) => view.zoom(true), "zoom-out": (view) => view.zoom(false), fit: (view) => view.fit() };
    for (const [name, act] of Object.entries(acts)) {
      find(this.#part("tools"), `[data-graph=${name}]`, HTMLButtonElement).addEventListener("click", () => this.#graphs.each(act));
    }
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
