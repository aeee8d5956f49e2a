/** The slider and the buttons that move through the episodes, and the clock behind "play". */

import { prefersLessMotion } from "../ui/colours.js";
import { find, setAttributes, setText } from "../ui/dom.js";
import { formatCount } from "../ui/format.js";
import { GrowingList } from "../ui/growing-list.js";
import { ImprovementMarks } from "./improvement-marks.js";
import * as player from "./player.js";

/** @typedef {import("./player.js").PlayerState} PlayerState */

/** The longest step of the clock, so that a tab from the background does not jump. */
const LONGEST_FRAME_SECONDS = 0.5;

export class PlayerControls {
  #root;
  #slider;
  #speed;
  #position;
  #onChange;
  #onStay;
  /** @type {PlayerState} */
  #state;
  #marks;
  #best = -1;
  /** @type {import("../ui/growing-list.js").GrowingList<number>} */
  #improvements = new GrowingList();
  /** @type {(index: number) => number} */
  #numberOf = (index) => index + 1;
  #clockRuns = false;
  #playings = 0;
  #isClocked = false;

  /**
   * @param {HTMLElement} root with the buttons `[data-player=…]`, a range, a select and an output
   * @param {(shown: number) => void} onChange
   * @param {() => void} onStay called when a person asks for the episode that is shown already
   */
  constructor(root, onChange, onStay) {
    this.#root = root;
    this.#onChange = onChange;
    this.#onStay = onStay;
    this.#slider = find(root, "input[type=range]", HTMLInputElement);
    this.#speed = find(root, "select", HTMLSelectElement);
    this.#position = find(root, "output", HTMLOutputElement);
    this.#marks = new ImprovementMarks(find(root, "[data-part=improvements]", HTMLElement));
    this.#state = player.initialPlayer(prefersLessMotion() ? player.SPEEDS[0] : player.SPEEDS[1]);
    this.#speed.value = String(this.#state.speed);
    this.#slider.addEventListener("input", () => this.#go(player.seek(this.#state, Number(this.#slider.value))));
    this.#speed.addEventListener("change", () => this.#set(player.withSpeed(this.#state, Number(this.#speed.value))));
    for (const button of root.querySelectorAll("button[data-player]")) {
      button.addEventListener("click", () => {
        if (button.getAttribute("aria-disabled") !== "true") {
          this.act(String(button.getAttribute("data-player")));
        }
      });
    }
    this.#draw();
  }

  get shown() {
    return this.#state.index;
  }

  /** @returns {number} of the playing that has moved it to the shown episode, counted from 1; 0: a person has, or the run */
  get playing() {
    return this.#isClocked ? this.#playings : 0;
  }

  get following() {
    return this.#state.mode === "following";
  }

  /**
   * @param {import("./run-state.js").RunState} state
   * @param {boolean} live whether more episodes will come
   */
  update({ episodes, bestIndex, improvements }, live) {
    this.#best = bestIndex;
    this.#improvements = improvements;
    this.#numberOf = (index) => episodes.at(index)?.episode ?? 0;
    this.#set(player.withLength(this.#state, episodes.length, live));
    this.#marks.show(improvements.whole(), episodes.length);
    this.#draw();
  }

  /** @param {number} index */
  seek(index) {
    this.#go(player.seek(this.#state, index));
  }

  /** Stay at the shown episode. */
  pause() {
    const { mode, index } = this.#state;
    this.#set(mode === "playing" ? player.togglePlay(this.#state) : player.seek(this.#state, index));
  }

  /** @param {string} what a button's `data-player` */
  act(what) {
    /** @type {Record<string, () => PlayerState>} */
    const acts = {
      play: () => player.togglePlay(this.#state),
      back: () => player.step(this.#state, -1),
      forward: () => player.step(this.#state, 1),
      first: () => player.step(this.#state, -Infinity),
      last: () => player.follow(this.#state),
      best: () => player.step(this.#state, this.#best - this.#state.index),
      worse: () => player.step(this.#state, this.#improvement(-1) - this.#state.index),
      better: () => player.step(this.#state, this.#improvement(1) - this.#state.index),
    };
    const to = { best: this.#best, worse: this.#improvement(-1), better: this.#improvement(1) }[what];
    if (this.#state.length > 0 && Object.hasOwn(acts, what) && (to === undefined || to >= 0)) {
      this.#go(acts[what]());
    }
  }

  /** @param {PlayerState} next where a person goes */
  #go(next) {
    const stays = next.index === this.#state.index && next.mode !== "playing";
    this.#set(next);
    if (stays) {
      this.#onStay();
    }
  }

  /** @param {-1 | 1} by */
  #improvement(by) {
    return player.neighbour(this.#state, this.#improvements.whole(), by);
  }

  /**
   * Keys for the whole watching area; the slider and the chart have their own for the arrows.
   *
   * @param {KeyboardEvent} event
   */
  onKey(event) {
    const target = event.target instanceof Element ? event.target : null;
    if (event.ctrlKey || event.metaKey || event.altKey || target?.closest("input:not([type=range]), select, textarea")) {
      return;
    }
    const onButton = target?.closest("button, a, summary, tr") !== null;
    const what = { b: "best", l: "last", p: "worse", n: "better", " ": onButton ? undefined : "play" }[event.key];
    if (what) {
      event.preventDefault();
      this.act(what);
    }
  }

  /**
   * @param {PlayerState} next
   * @param {boolean} [isClocked] whether the clock has made it
   */
  #set(next, isClocked = false) {
    const { index, mode } = this.#state;
    this.#state = next;
    if (next.index !== index) {
      this.#isClocked = isClocked;
      this.#onChange(next.index);
    }
    if (next.index !== index || next.mode !== mode) {
      this.#draw();
    }
    if (next.mode === "playing" && !this.#clockRuns) {
      this.#clockRuns = true;
      this.#playings += 1;
      this.#run(performance.now());
    }
  }

  /** @param {number} before milliseconds */
  #run(before) {
    requestAnimationFrame((now) => {
      this.#set(player.tick(this.#state, Math.max(0, Math.min((now - before) / 1000, LONGEST_FRAME_SECONDS))), true);
      if (this.#state.mode === "playing") {
        this.#run(now);
      } else {
        this.#clockRuns = false;
      }
    });
  }

  #draw() {
    const { index, length, mode, live } = this.#state;
    const numbers = [index, length - 1].map((each) => formatCount(this.#numberOf(each)));
    const text = length === 0 ? "no episode yet" : `Episode ${numbers.join(" of ")}`;
    setAttributes(this.#slider, { max: Math.max(0, length - 1), disabled: length === 0, "aria-valuetext": text });
    this.#slider.value = String(Math.max(0, index));
    this.#slider.style.setProperty("--share", String(length > 1 ? index / (length - 1) : length));
    setText(this.#position, text);
    this.#root.dataset.mode = mode;
    this.#button("play", length === 0, mode === "playing" ? "Pause" : "Play");
    this.#button("first", index <= 0);
    this.#button("back", index <= 0);
    this.#button("forward", index >= length - 1);
    this.#button("best", this.#best < 0);
    this.#button("worse", this.#improvement(-1) < 0);
    this.#button("better", this.#improvement(1) < 0);
    this.#button("last", length === 0, live ? "Follow live" : "Go to the last episode");
    const last = find(this.#root, "[data-player=last]", HTMLButtonElement);
    last.setAttribute("aria-pressed", String(live && mode === "following"));
    setText(find(last, ".button-text", HTMLElement), live ? "Live" : "Last");
  }

  /**
   * @param {string} what
   * @param {boolean} disabled
   * @param {string} [label]
   */
  #button(what, disabled, label) {
    const button = find(this.#root, `[data-player=${what}]`, HTMLButtonElement);
    // aria-disabled keeps the focus on a button that becomes unusable while it is pressed
    button.setAttribute("aria-disabled", String(disabled));
    if (label) {
      setAttributes(button, { "aria-label": label, title: label });
    }
  }
}
