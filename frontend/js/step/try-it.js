/** A placement made by hand on the page of a run: moves with undo and redo, locks, keeping, downloads. */

import { SPLIT } from "../graph/colouring.js";
import { element, find, setText } from "../ui/dom.js";
import { counted, cutName } from "../ui/format.js";
import { shownName } from "../ui/names.js";
import { post } from "../ui/server.js";
import { downloadsOf, KeptList } from "./kept-list.js";
import { gainsOfMove } from "./gains.js";
import { GainsMap } from "./gains-map.js";
import { FirstLook } from "./first-look.js";
import { GroupDrag } from "./group-drag.js";
import { CostLine } from "./cost-line.js";
import { StepWait } from "./step-wait.js";
import { costWords, moveButtons } from "./move-buttons.js";
import { TrialBar, trialWords } from "./trial-bar.js";
import { whyHere } from "./why-here.js";
import { choice, chosenGroup } from "../run/page-state.js";
import { movedGroups, redo, undo, withLocks, withMove } from "../run/trial.js";

/** @typedef {import("../run/trial.js").Trial} Trial */

/**
 * @typedef {object} Page what this part needs of the page
 * @property {import("./step-state.js").StepStore} store
 * @property {boolean} canTry false in a file, where no server says what a move changes
 * @property {(words: string) => void} say to a screen reader
 */

export class TryIt {
  #page;
  #store;
  #shown;
  #looks;
  #bar;
  #kept;
  #list;
  #gains;
  #firstLook;
  #groups;
  #drag;
  #costs;
  #explained = new StepWait();
  /** @type {import("./gains-map.js").ShownForGains | null} the shown placement, once its step is known */
  #known = null;

  /**
   * @param {HTMLElement} root of the page
   * @param {readonly import("../graph/devices.js").DeviceLook[]} looks
   * @param {import("../run/shown-placement.js").ShownPlacement} shown
   * @param {import("../run/kept-placements.js").KeptPlacements} kept
   * @param {readonly import("../ui/contracts.js").Group[]} groups
   * @param {Page} page
   */
  constructor(root, looks, shown, kept, groups, page) {
    this.#page = page;
    this.#store = page.store;
    this.#shown = shown;
    this.#groups = groups;
    this.#drag = new GroupDrag(root, find(root, "[data-part=canvas]", HTMLElement), looks);
    this.#looks = looks;
    this.#costs = new CostLine(find(root, "[data-part=costs]", HTMLElement));
    this.#kept = kept;
    const list = root.querySelector("[data-part=kept]");
    this.#list = list instanceof HTMLElement ? new KeptList(list, kept, { onShow: (token) => shown.goTo(token), onKeep: (name) => this.#keep(name), onGoOn: (method, evaluations) => this.#goOn(method, evaluations) }) : null;
    this.#bar = new TrialBar(find(root, "[data-part=trial]", HTMLElement), list instanceof HTMLElement ? downloadsOf(list) : null, {
      undo: () => this.#change(undo),
      redo: () => this.#change(redo),
      discard: () => shown.discard(),
      keep: async (name) => shown.goTo(await this.#keep(name)),
      download: (link, signal) => post(link.href, shown.fields(), "application/json", signal),
    });
    const map = root.querySelector("[data-part=gains]");
    this.#gains = map instanceof HTMLElement
      ? new GainsMap(map, groups, looks, { onChoose: (group) => this.#choose(group), onMove: (group, device) => this.moveGroups([group], device) })
      : null;
    this.#firstLook = new FirstLook(find(root, "[data-part=first-look]", HTMLElement), groups, looks, {
      canTry: page.canTry,
      onChoose: (group) => this.#choose(group),
      onMove: (group, device) => this.moveGroups([group], device),
    });
    if (this.#list) {
      kept.load().catch(() => {}); // the list stays empty; a reload asks again
    }
    this.#store.subscribe(["placed", "step"], ({ step }) => this.#know(step));
    this.#store.subscribe(["placed", "step", "kept"], ({ step }) => this.#draw(step));
    this.#store.subscribe(["groups"], (state) => {
      this.#gains?.choose(chosenGroup(state));
      this.#lookFirst();
    });
  }

  /** @returns {readonly number[]} groups */
  get #selected() {
    return this.#store.state.groups;
  }

  /** @param {number} group */
  #choose(group) {
    this.#store.set(choice(this.#store.state, [group]));
  }

  /**
   * @param {{ stepTimeUs: number, feasible: boolean } | null} outcome of the trial; null: not simulated yet
   */
  #draw(outcome) {
    const { trial, base } = this.#shown;
    this.#bar.show(this.#shown.history, outcome, base?.stepTimeUs ?? 0);
    this.#costs.showOutcome(trial ? trialWords(movedGroups(trial).length, outcome, base?.stepTimeUs ?? 0) : "");
    this.#list?.show(trial ? "" : (base?.token ?? ""));
  }

  /** @param {number} device the selected groups move there */
  move(device) {
    this.moveGroups(this.#selected, device);
  }

  /**
   * @param {readonly number[]} groups
   * @param {number} device
   */
  moveGroups(groups, device) {
    this.#change((trial) => withMove(trial, groups, device, new Set(this.#store.state.locked)));
  }

  /** @param {import("./step.js").Step | null} step of the shown placement; null: not known yet */
  #know(step) {
    this.#explained.know(step);
    const { placement } = this.#shown;
    this.#known = step && placement ? { fields: this.#shown.fields(), placement, stepTimeUs: step.stepTimeUs } : null;
    this.#gains?.show(this.#known);
    this.#lookFirst();
  }

  #lookFirst() {
    const isFree = this.#selected.length === 0 && !this.#store.state.placed?.isLive;
    this.#firstLook.show(isFree ? this.#known : null);
  }

  /** The tab of gains is shown. */
  findGains() {
    this.#gains?.ask();
  }

  /**
   * A group is dragged out of the graph; with it the others that are selected, if it is one of them.
   *
   * @param {number} group
   * @param {PointerEvent} event
   */
  drag(group, event) {
    const { base, placement } = this.#shown;
    if (!base || !placement) {
      return;
    }
    const selected = this.#selected;
    const groups = selected.includes(group) ? selected : [group];
    const movable = this.#movable(groups);
    const isLocked = movable.length === 0;
    const load = {
      words: groups.length > 1 ? counted(groups.length, "group") : cutName(shownName(this.#groups[group]), 40),
      stays: isLocked || movable.length < groups.length ? stayWords(groups.length - movable.length) : "",
      isLocked,
      current: this.#currentOf(groups),
      gains: isLocked ? null : this.#gainsSoon(movable),
    };
    this.#drag.begin(event, load, (device) => {
      this.moveGroups(groups, device);
      if (groups.length === 1) {
        this.#choose(group);
      }
    });
    if (load.stays) {
      this.#page.say(load.stays);
    }
  }

  /** The selection has changed, or where its groups are. */
  drawCosts() {
    const groups = this.#selected;
    const device = this.#shown.placement?.[groups.at(-1) ?? -1] ?? null;
    const controls = this.controls(device);
    const name = groups.length > 1 ? counted(groups.length, "group") : cutName(this.#groups[groups[0]] ? shownName(this.#groups[groups[0]]) : "", 60);
    this.#costs.showSelection(controls ? name : "", controls);
    if (controls) {
      this.#sayCosts(groups, name);
    }
  }

  /**
   * @param {readonly number[]} groups
   * @param {string} name
   */
  async #sayCosts(groups, name) {
    const movable = this.#movable(groups);
    const { step } = this.#store.state;
    if (movable.length === 0 || !step) {
      return;
    }
    const gains = await this.#gainsOf(movable).catch(() => null); // the buttons do without it too
    if (gains && this.#selected === groups && this.#store.state.step === step) {
      this.#page.say(costWords(name, this.#looks, this.#currentOf(groups), gains));
    }
  }

  /**
   * @param {readonly number[]} groups
   * @returns {number} their device; −1 if they are on several
   */
  #currentOf(groups) {
    const { placement } = this.#shown;
    const device = placement?.[groups[0]] ?? -1;
    return groups.every((each) => placement?.[each] === device) ? device : -1;
  }

  lockSelected() {
    const locked = [...withLocks(new Set(this.#store.state.locked), this.#selected)];
    this.#store.set({ locked: locked.sort((one, other) => one - other) });
  }

  /**
   * What the panel of the selected groups offers.
   *
   * @param {number | null} device of the chosen one
   * @returns {Node | null}
   */
  controls(device) {
    const groups = this.#selected;
    if (device === null || groups.length === 0 || !this.#page.canTry) {
      return null;
    }
    const movable = this.#movable(groups);
    const isLocked = movable.length === 0;
    const lock = element("button", { type: "button", class: "button", "data-lock": "", "aria-pressed": String(isLocked), title: "Key K" }, isLocked ? "Unlock" : "Lock");
    lock.addEventListener("click", () => this.lockSelected());
    const current = this.#currentOf(groups);
    const gains = isLocked ? null : this.#gainsOf(movable);
    const moves = moveButtons(this.#looks, current, gains, (to) => this.move(to), groups.length);
    const stay = element("p", { class: "hint stays", hidden: isLocked || movable.length === groups.length }, stayWords(groups.length - movable.length));
    const isSplit = groups.length === 1 && current === SPLIT;
    const whole = element("p", { class: "hint whole", hidden: !isSplit }, "If all of it went to one device:");
    const why = element("p", { class: "why", hidden: !gains });
    gains?.then((known) => setText(why, whyHere(this.#looks, current, known)), () => (why.hidden = true));
    return element("div", { class: "try-controls" }, why, whole, moves, lock, stay);
  }

  /**
   * Digits move the selected groups to a device, K locks them; Ctrl + Z and Ctrl + Y undo and redo.
   *
   * @param {KeyboardEvent} event not from a field
   * @returns {boolean} whether it was one of these
   */
  onKey(event) {
    const command = event.ctrlKey || event.metaKey;
    const device = /^[1-9]$/.test(event.key) && !command ? Number(event.key) - 1 : -1;
    const hasSelection = this.#selected.length > 0;
    /** @type {(() => void) | null} */
    let act = null;
    if (device >= 0 && device < this.#looks.length && hasSelection) {
      act = () => this.move(device);
    } else if (event.key === "k" && !command && hasSelection) {
      act = () => this.lockSelected();
    } else if (command && this.#shown.history && ["z", "y", "Z"].includes(event.key)) {
      act = () => this.#change(event.key === "z" ? undo : redo);
    }
    act?.();
    return act !== null;
  }

  /** @param {(trial: Trial) => Trial} change */
  #change(change) {
    if (this.#page.canTry) {
      this.#shown.changeByHand(change);
    }
  }

  /**
   * @param {string} name
   * @returns {Promise<string>} the token of the kept placement
   */
  #keep(name) {
    const { base, trial } = this.#shown;
    if (!base) {
      return Promise.reject(new Error("There is no placement to keep yet."));
    }
    const isMoved = trial !== null && movedGroups(trial).length > 0;
    return this.#kept.keep({ ...this.#shown.fields(), name, locked: this.#store.state.locked, is_moved: isMoved });
  }

  /**
   * Start a run from the shown placement, with the locked groups where they are, and go to its page.
   *
   * @param {string} method
   * @param {string} evaluations
   */
  async #goOn(method, evaluations) {
    const { base, words } = this.#shown;
    if (!base) {
      throw new Error("There is no placement to go on from yet.");
    }
    const fields = { ...this.#shown.fields(), locked: this.#store.state.locked, method, evaluations, words, token: base.token };
    const { url } = await (await post("go-on/", fields, "application/json")).json();
    location.assign(url);
  }

  /**
   * @param {readonly number[]} groups
   * @returns {readonly number[]} those of them that a move changes
   */
  #movable(groups) {
    const locked = new Set(this.#store.state.locked);
    return groups.filter((group) => !locked.has(group));
  }

  /**
   * What moving groups to each device would change, once the shown placement is explained: a drag may begin before.
   *
   * @param {readonly number[]} groups
   * @returns {Promise<import("./gains.js").MoveGains>}
   */
  async #gainsSoon(groups) {
    const { stepTimeUs } = this.#store.state.step ?? (await this.#explained.next());
    return gainsOfMove(this.#shown.fields(), groups, stepTimeUs);
  }

  /**
   * What moving groups to each device would change. While the shown placement is not known to stay, nothing is asked for.
   *
   * @param {readonly number[]} groups
   * @returns {Promise<import("./gains.js").MoveGains>}
   */
  #gainsOf(groups) {
    const { step } = this.#store.state;
    return step ? gainsOfMove(this.#shown.fields(), groups, step.stepTimeUs) : new Promise(() => {});
  }
}

/** @param {number} count of locked groups in a selection */
function stayWords(count) {
  return `${counted(count, "locked group")} ${count === 1 ? "stays where it is" : "stay where they are"}.`;
}
