/** The top of the run page: state, figures, connection, and the sentence that is read aloud. */

import { find, setAttributes, setText } from "../ui/dom.js";
import { counted, formatCount, formatDuration, formatEstimate, formatTime, NOTHING } from "../ui/format.js";
import { aboveBound, againstOneDevice, bandWords, beforeFirstEpisode, robustnessWords, runNumbers, whyEarly } from "./run-numbers.js";
import { errorSentence } from "../ui/sentences.js";
import { TimeLeft } from "../ui/time-left.js";
import { hasEnded } from "../jobs/job-state.js";
import { deletedWords, SERVER_UPDATED, stageWords, statusWords, WAITING, WAITING_TO_GO_ON } from "../jobs/words.js";

/** @typedef {import("./run-state.js").RunState} RunState */
/** @typedef {import("../jobs/job-feed.js").Connection} Connection */

/** @type {Record<Connection, string>} */
const CONNECTION_WORDS = {
  loading: "Loading…",
  live: "Live",
  reconnecting: "Connection lost, trying again…",
  unreachable: "Connection lost, trying again…",
  polling: "Live by polling: the stream cannot be kept open",
  paused: "Paused while this tab is hidden",
  ended: "",
  gone: deletedWords("run"),
};

export class RunHeader {
  #root;
  #budget;
  #timeLeft = new TimeLeft();

  /**
   * @param {HTMLElement} root
   * @param {{ evaluations: number, seconds: number | null }} budget
   * @param {import("./store.js").Store<import("./page-state.js").PageState>} store
   */
  constructor(root, budget, store) {
    this.#root = root;
    this.#budget = budget;
    store.subscribe(["run"], ({ run }) => run && this.#show(run));
  }

  /** @param {RunState} state */
  #show(state) {
    const numbers = runNumbers(state, this.#budget);
    const ended = hasEnded(state.status);
    this.#text("status", statusWords(state.status));
    this.#part("status").dataset.status = state.status;
    this.#text("best", formatTime(numbers.bestUs));
    this.#text("speed-up", againstOneDevice(numbers));
    this.#text("used", formatCount(numbers.used));
    const early = whyEarly(state, this.#budget);
    this.#text("budget", `of ${formatCount(numbers.budget)}${early === "" ? "" : `: ${early}`}`);
    const progress = find(this.#root, "[data-part=progress]", HTMLProgressElement);
    setAttributes(progress, { max: Math.max(1, numbers.budget), value: numbers.used });
    this.#text("left", ended ? formatDuration(numbers.elapsedSeconds) : leftWords(state, numbers.leftSeconds));
    this.#text("left-label", ended ? "Time taken" : "Time left");
    this.#text("elapsed", ended ? endedWords(state, numbers) : elapsedWords(numbers, state.status));
    this.#text("bound", formatTime(numbers.lowerBoundUs || null)); // 0: of a stream none is known
    this.#text("bound-gap", aboveBound(numbers));
    const robustness = robustnessWords(state.report?.robustness, Boolean(state.report?.stream));
    this.#text("robustness", robustness);
    this.#part("robust-line").hidden = robustness === "";
    const band = bandWords(state.report?.error_band);
    this.#text("band", band);
    this.#part("band-line").hidden = band === "";
    this.#message(state);
    for (const part of this.#root.querySelectorAll("[data-when=working]")) {
      part.toggleAttribute("hidden", ended);
    }
    for (const part of this.#root.querySelectorAll("[data-when=answer]")) {
      part.toggleAttribute("hidden", numbers.bestUs === null);
    }
    for (const part of this.#root.querySelectorAll("[data-when=ended]")) {
      part.toggleAttribute("hidden", !ended);
    }
    for (const part of this.#root.querySelectorAll("[data-when=no-answer]")) {
      part.toggleAttribute("hidden", numbers.bestUs !== null);
    }
  }

  /** @param {Connection} connection */
  showConnection(connection) {
    const part = this.#part("connection");
    part.dataset.connection = connection;
    setText(part, CONNECTION_WORDS[connection]);
  }

  /**
   * One sentence for a screen reader.
   *
   * @param {RunState} state
   * @returns {string}
   */
  sentence(state) {
    const numbers = runNumbers(state, this.#budget);
    const best = numbers.bestUs === null ? "no placement yet" : `best ${this.#part("chart").dataset.quantity ?? "step time"} ${formatTime(numbers.bestUs)}`;
    const used = `${formatCount(numbers.used)} of ${counted(numbers.budget, "evaluation")} used`;
    return `${statusWords(state.status)}: ${best}, ${used}.`;
  }

  /** @param {RunState} state */
  #message(state) {
    const part = this.#part("message");
    const names = String(part.dataset.baselines).split("|");
    const baselines = names.length;
    const { stage, done, total } = state.progress ?? { stage: "baselines", done: state.baselines.length, total: baselines };
    const text = messageOf(state, names, this.#timeLeft.words(stage, done, total, performance.now()));
    part.hidden = text === "";
    part.dataset.kind = state.status === "failed" || state.unreadable ? "error" : "note";
    setText(part, text);
  }

  /** @param {string} name */
  #part(name) {
    return find(this.#root, `[data-part=${name}]`, HTMLElement);
  }

  /**
   * @param {string} name
   * @param {string} text
   */
  #text(name, text) {
    setText(this.#part(name), text);
  }
}

/**
 * @param {RunState} state
 * @param {readonly string[]} baselines names of those that are evaluated before the first episode
 * @param {string} left time of the stage that is in progress
 * @returns {string}
 */
function messageOf(state, baselines, left) {
  if (state.unreadable) {
    return SERVER_UPDATED;
  }
  if (state.error) {
    return errorSentence(state.error);
  }
  if (state.status === "queued" && state.episodes.length === 0) {
    return `${WAITING} The run starts automatically.`;
  }
  if (state.status === "queued") {
    return WAITING_TO_GO_ON;
  }
  if (state.progress && !hasEnded(state.status)) {
    return `${stageWords({ ...state.progress })}${left}`;
  }
  if (state.status === "running" && state.episodes.length === 0) {
    return beforeFirstEpisode(state, baselines, left);
  }
  return "";
}

/**
 * @param {RunState} state
 * @param {number | null} leftSeconds
 * @returns {string}
 */
function leftWords(state, leftSeconds) {
  if (state.status === "queued") {
    return NOTHING;
  }
  return formatEstimate(leftSeconds);
}

/**
 * @param {import("./run-numbers.js").RunNumbers} numbers
 * @param {string} status
 */
function elapsedWords({ elapsedSeconds, leftSeconds }, status) {
  if (elapsedSeconds === null) {
    return status === "running" ? "estimating…" : "not started";
  }
  return leftSeconds === null ? "estimating…" : `${formatDuration(elapsedSeconds)} so far`;
}

/**
 * @param {RunState} state
 * @param {import("./run-numbers.js").RunNumbers} numbers
 */
function endedWords(state, { baselineSeconds }) {
  const episodes = counted(state.episodes.last?.episode ?? 0, "episode");
  return baselineSeconds > 0 ? `${episodes}; ${formatDuration(baselineSeconds)} for baselines` : episodes;
}
