/** The decisions inside the shown episode: one at a time with its bars, a player, and those that were least sure. */

import { initialPlayer, step as stepBy, seek, tick, togglePlay, withLength } from "../run/player.js";
import { choice } from "../run/page-state.js";
import { element, find, setText } from "../ui/dom.js";
import { cutName } from "../ui/format.js";
import { cutNames, LONGEST_TITLE, shownName } from "../ui/names.js";
import { getJson, showFailure } from "../ui/server.js";
import { SettledTimer } from "../ui/settled-timer.js";
import { decidedAt, decisionAt, decisionSentence, honestWords, leastSure, probabilityText, startSeqOf } from "./decisions.js";

/** @typedef {import("./decisions.js").Decisions} Decisions */
/** @typedef {import("../run/run-state.js").RunState} RunState */

const SETTLED_MILLISECONDS = 300;
const SPEED = 8;
const LEAST_SURE = 10;
const LONGEST_NAME = 48;
const LONGEST_FRAME_SECONDS = 0.5;
const KEYS = new Map([
  ["ArrowLeft", -1],
  ["ArrowRight", 1],
  ["PageUp", -10],
  ["PageDown", 10],
  ["Home", -Infinity],
  ["End", Infinity],
]);

export class DecisionsPanel {
  #root;
  #details;
  #groups;
  #looks;
  #store;
  #slider;
  /** @type {{ key: string, address: () => string } | null} the shown episode */
  #shown = null;
  #loadedKey = "";
  #timer = new SettledTimer();
  /** @type {Decisions | null} */
  #decisions = null;
  #player = initialPlayer(SPEED);
  #clockRuns = false;

  /**
   * @param {HTMLElement} root with `[data-decisions=…]`
   * @param {readonly import("../ui/contracts.js").Group[]} groups
   * @param {readonly import("../graph/devices.js").DeviceLook[]} looks
   * @param {import("../graph/graph-state.js").GraphStore} store
   * @param {import("../run/shown-placement.js").ShownPlacement} shown
   */
  constructor(root, groups, looks, store, shown) {
    this.#root = root;
    this.#details = find(root, "details", HTMLDetailsElement);
    this.#groups = groups;
    this.#looks = looks;
    this.#store = store;
    this.#slider = find(root, "input[type=range]", HTMLInputElement);
    this.#slider.addEventListener("input", () => this.#set(seek(this.#player, Number(this.#slider.value))));
    this.#details.addEventListener("toggle", () => this.#loadSoon());
    find(root, "[data-decisions=tools]", HTMLElement).addEventListener("click", (event) => this.#onTool(event));
    this.#part("body").addEventListener("keydown", (event) => this.#onKey(event));
    store.subscribe(["run", "placed"], ({ run }) => run && this.#show(run, shown.episodeIndex));
  }

  /**
   * @param {RunState} state
   * @param {number} index of the shown episode, -1 where another placement is shown
   */
  #show(state, index) {
    this.#root.hidden = state.updates.length === 0;
    const episode = state.episodes.at(index);
    const key = episode ? `${episode.seq} ${state.status}` : "";
    if (key !== (this.#shown?.key ?? "")) {
      this.#shown = episode ? { key, address: () => addressOf(episode, startSeqOf(state, index)) } : null;
      if (this.#details.open) {
        this.#loadSoon();
      }
    }
  }

  #loadSoon() {
    this.#timer.stop();
    if (this.#details.open && this.#shown?.key === this.#loadedKey && this.#decisions) {
      this.#draw();
      return;
    }
    this.#forget(this.#shown ? "Computing the decisions of this episode…" : "Decisions belong to episodes: show one.");
    if (this.#details.open && this.#shown) {
      this.#timer.start(SETTLED_MILLISECONDS, () => this.#load());
    }
  }

  async #load() {
    const shown = this.#shown;
    if (!shown) {
      return;
    }
    try {
      const answer = await getJson(shown.address());
      if (shown.key === this.#shown?.key) {
        this.#loadedKey = shown.key;
        this.#take(/** @type {Decisions & { obstacle?: string }} */ (answer));
      }
    } catch (error) {
      if (shown.key === this.#shown?.key) {
        this.#forget("");
        showFailure(this.#part("note"), "The decisions cannot be computed.", error, () => this.#load());
      }
    }
  }

  /** @param {Decisions & { obstacle?: string }} answer */
  #take(answer) {
    if (answer.obstacle) {
      this.#forget(answer.obstacle);
      return;
    }
    this.#decisions = answer;
    this.#part("note").replaceChildren(honestWords(answer));
    this.#part("body").hidden = false;
    this.#root.dataset.state = "ready";
    this.#player = withLength(initialPlayer(SPEED), answer.order.length, false);
    this.#slider.max = String(answer.order.length - 1);
    this.#listLeastSure(answer);
    this.#draw();
  }

  /** @param {string} words in the place of decisions */
  #forget(words) {
    this.#decisions = null;
    this.#loadedKey = "";
    this.#root.dataset.state = "empty";
    this.#player = initialPlayer(SPEED);
    this.#part("body").hidden = true;
    this.#part("note").replaceChildren(words);
    this.#store.set({ decided: null });
  }

  #draw() {
    const decisions = this.#decisions;
    if (!decisions) {
      return;
    }
    const { index, length, mode } = this.#player;
    const decision = decisionAt(decisions, index);
    const name = this.#nameOf(decision.group);
    this.#slider.value = String(index);
    this.#slider.setAttribute("aria-valuetext", decisionSentence(decisions, index, name, this.#labels));
    setText(this.#part("sentence"), decisionSentence(decisions, index, cutName(name, LONGEST_NAME), this.#labels));
    this.#part("bars").replaceChildren(...decision.options.map((option) => this.#bar(option, option.device === decision.device)));
    const play = find(this.#root, "[data-decision=play]", HTMLButtonElement);
    setText(play, mode === "playing" ? "Pause" : "Play");
    for (const [what, disabled] of /** @type {[string, boolean][]} */ ([["back", index <= 0], ["forward", index >= length - 1]])) {
      find(this.#root, `[data-decision=${what}]`, HTMLButtonElement).setAttribute("aria-disabled", String(disabled));
    }
    this.#store.set({ decided: this.#details.open && index < length - 1 ? decidedAt(decisions, index) : null });
  }

  /**
   * @param {{ device: number, probability: number }} option
   * @param {boolean} isChosen
   */
  #bar({ device, probability }, isChosen) {
    const look = this.#looks[device];
    const fill = element("i", { class: "decision-fill", "aria-hidden": "true" });
    fill.style.width = `${probability * 100}%`;
    fill.style.background = look?.colour ?? "";
    return element(
      "div",
      { class: "decision-bar", "data-chosen": isChosen },
      element("span", {}, `${look?.label ?? ""}${isChosen ? " ✓" : ""}`),
      element("span", { class: "decision-track" }, fill),
      element("b", {}, probabilityText(probability)),
    );
  }

  /** @param {Decisions} decisions */
  #listLeastSure(decisions) {
    const steps = leastSure(decisions, LEAST_SURE);
    const words = cutNames(steps.map((step) => this.#nameOf(decisionAt(decisions, step).group)), LONGEST_NAME);
    const rows = steps.map((step, index) => {
      const { group, device, probability } = decisionAt(decisions, step);
      const title = cutName(this.#groups[group]?.name ?? "", LONGEST_TITLE);
      const button = element("button", { type: "button", class: "link-button name", title }, words[index]);
      button.addEventListener("click", () => {
        this.#set(seek(this.#player, step));
        this.#store.set(choice(this.#store.state, [group]));
      });
      const cells = [String(step + 1), button, this.#labels[device], probabilityText(probability)];
      return element("tr", {}, ...cells.map((cell, column) => element("td", { class: column === 0 || column === 3 ? "number" : "" }, cell)));
    });
    find(this.#root, "tbody", HTMLTableSectionElement).replaceChildren(...rows);
  }

  /** @param {number} index of a group */
  #nameOf(index) {
    const group = this.#groups[index];
    return group ? shownName(group) : "";
  }

  get #labels() {
    return this.#looks.map(({ label }) => label);
  }

  /** @param {MouseEvent} event */
  #onTool(event) {
    const button = event.target instanceof Element ? event.target.closest("[data-decision]") : null;
    const what = button?.getAttribute("data-decision");
    if (!this.#decisions || !what || button?.getAttribute("aria-disabled") === "true") {
      return;
    }
    if (what === "group") {
      this.#store.set(choice(this.#store.state, [decisionAt(this.#decisions, this.#player.index).group]));
      return;
    }
    this.#set(what === "play" ? togglePlay(this.#player) : stepBy(this.#player, what === "back" ? -1 : 1));
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const by = KEYS.get(event.key);
    if (event.target === this.#slider || by === undefined || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    this.#set(stepBy(this.#player, by));
  }

  /** @param {import("../run/player.js").PlayerState} player */
  #set(player) {
    this.#player = player;
    this.#draw();
    if (player.mode === "playing" && !this.#clockRuns) {
      this.#clockRuns = true;
      this.#run(performance.now());
    }
  }

  /** @param {number} before milliseconds */
  #run(before) {
    requestAnimationFrame((now) => {
      const next = tick(this.#player, Math.max(0, Math.min((now - before) / 1000, LONGEST_FRAME_SECONDS)));
      const moved = next.index !== this.#player.index || next.mode !== this.#player.mode;
      this.#player = next;
      if (moved) {
        this.#draw();
      }
      if (next.mode === "playing") {
        this.#run(now);
      } else {
        this.#clockRuns = false;
      }
    });
  }

  /** @param {string} name */
  #part(name) {
    return find(this.#root, `[data-decisions=${name}]`, HTMLElement);
  }
}

/**
 * @param {import("../run/run-state.js").Episode} episode
 * @param {number | null} from number of the event whose placement the policy began with; null: it had none
 */
function addressOf({ seq }, from) {
  return `decisions/${seq}${from === null ? "" : `?from=${from}`}`;
}
