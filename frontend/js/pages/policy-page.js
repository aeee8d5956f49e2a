/** The page of a policy: follows its training live, and later replays the same events. */

import { PolicyChart } from "../chart/policy-chart.js";
import { offerEndNotice } from "../jobs/end-notice.js";
import { connectionWords, follow } from "../jobs/job-feed.js";
import { watchRows } from "../jobs/job-rows.js";
import { hasEnded } from "../jobs/job-state.js";
import { chartSentence, initialState, isBuilding, progressWords, reduce, stageName } from "../jobs/policy-state.js";
import { statusWords } from "../jobs/words.js";
import { Announcer } from "../ui/announcer.js";
import { find, setAttributes, setText } from "../ui/dom.js";
import { formatDuration } from "../ui/format.js";
import { fillNumbers } from "../ui/page-numbers.js";

/** @typedef {import("../jobs/job-feed.js").Connection} Connection */

class TrainingView {
  #root;
  #stageWords;
  #chart;
  #announcer;
  #state;
  #worked;
  /** @type {Connection} */
  #connection = "loading";
  #frame = 0;

  /**
   * @param {HTMLElement} root
   * @param {Record<string, string>} stageWords
   */
  constructor(root, stageWords) {
    this.#root = root;
    this.#stageWords = stageWords;
    this.#state = initialState(/** @type {import("../ui/contracts.js").RunStatus} */ (root.dataset.status));
    this.#worked = !hasEnded(this.#state.status);
    this.#chart = new PolicyChart(this.#part("chart"));
    this.#announcer = new Announcer(this.#part("announcer"));
  }

  start() {
    /** @type {import("../jobs/job-feed.js").Store} */
    const store = {
      state: () => this.#state,
      apply: (action) => {
        this.#state = reduce(this.#state, action);
        this.#frame ||= requestAnimationFrame(() => {
          this.#frame = 0;
          this.#show();
        });
      },
    };
    follow(store, (connection) => this.#showConnection(connection));
  }

  /** @param {Connection} connection */
  #showConnection(connection) {
    this.#connection = connection;
    if (connection === "ended" && this.#worked) {
      location.reload(); // the page now has more to show: the card, the table
      return;
    }
    this.#root.querySelector("[data-part=bar]")?.toggleAttribute("hidden", connection === "gone");
    const words = connectionWords(connection, "policy");
    if (words) {
      this.#announcer.say(words, { urgent: true });
    }
    this.#show();
  }

  #show() {
    const state = this.#state;
    const ended = hasEnded(state.status);
    setText(this.#part("status"), statusWords(state.status));
    this.#part("status").dataset.status = state.status;
    this.#chart.update(state);
    setText(this.#part("chart-words"), chartSentence(state, ended));
    this.#part("unreadable").hidden = !state.unreadable;
    setText(this.#part("time"), state.seconds > 0 ? `${formatDuration(state.seconds)} of training` : "");
    const lost = connectionWords(this.#connection, "policy");
    if (lost) {
      setText(this.#part("stage"), lost);
    } else if (!ended && this.#connection !== "loading") {
      this.#showProgress();
    }
  }

  #showProgress() {
    const { status, jobStatus, lastSeq, done } = this.#state;
    const waiting = status === "queued";
    this.#announcer.say(waiting ? statusWords(status) : stageName(this.#state, this.#stageWords));
    setText(this.#part("stage"), progressWords(this.#state, this.#stageWords));
    const bar = find(this.#root, "[data-part=bar]", HTMLProgressElement);
    const known = { max: 1, value: lastSeq > 0 && !waiting ? done : null };
    setAttributes(bar, isBuilding(this.#state) ? { max: jobStatus.total ?? 0, value: jobStatus.done ?? 0 } : known);
  }

  /** @param {string} name */
  #part(name) {
    return find(this.#root, `[data-part=${name}]`, HTMLElement);
  }
}

const root = find(document, "[data-page=policy]", HTMLElement);
fillNumbers(document);
offerEndNotice(document);
watchRows(document, undefined, () => undefined);
if (root.querySelector("[data-part=training]")) {
  new TrainingView(root, JSON.parse(find(document, "#stage-words", HTMLScriptElement).text)).start();
}
