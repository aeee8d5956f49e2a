/** The page of a policy: follows its training until that has ended; afterwards the same events, replayed. */

import { Announcer } from "../ui/announcer.js";
import { confirmDeletion } from "../ui/confirm.js";
import { find, setAttributes, setText } from "../ui/dom.js";
import { formatDuration } from "../ui/format.js";
import { watchRows } from "../jobs/job-rows.js";
import { fillNumbers } from "../ui/page-numbers.js";
import { PolicyChart } from "../chart/policy-chart.js";
import { chartSentence, initialState, progressWords, reduce, stageName } from "../jobs/policy-state.js";
import { failureWords, poll } from "../jobs/poll.js";
import { hasEnded } from "../run/run-state.js";
import { getJson, isGone } from "../ui/server.js";
import { statusWords } from "../jobs/words.js";

/**
 * @typedef {object} Page
 * @property {import("../jobs/policy-state.js").ProgressEvent[]} events
 * @property {import("../ui/contracts.js").RunStatus} status
 * @property {string} stage
 * @property {number} done
 * @property {number} total
 * @property {number} last_seq
 */

const EVERY_MILLISECONDS = 1500;
const PAGE_SIZE = 1000;

class TrainingView {
  #root;
  #chart;
  #announcer;
  #state = initialState();
  #worked;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.#root = root;
    this.#worked = !hasEnded(/** @type {import("../ui/contracts.js").RunStatus} */ (root.dataset.status));
    this.#chart = new PolicyChart(this.#part("chart"));
    this.#announcer = new Announcer(this.#part("announcer"));
  }

  /** @returns {Promise<boolean>} whether there will be more */
  async look() {
    /** @type {Page} */
    let page;
    do {
      page = /** @type {Page} */ (await getJson(`events.json?after=${this.#state.lastSeq}&limit=${PAGE_SIZE}`));
      this.#state = reduce(this.#state, page.events);
    } while (page.events.length > 0 && this.#state.lastSeq < page.last_seq);
    const ended = hasEnded(page.status);
    if (ended && this.#worked) {
      location.reload(); // the page has more to tell than its progress: the card, the table
      return false;
    }
    this.#show(page, ended);
    return !ended;
  }

  /**
   * @param {number} failures in a row
   * @param {unknown} error
   */
  tellFailure(failures, error) {
    const words = failureWords("This policy", failures, error);
    if (words) {
      setText(this.#part("stage"), words);
      this.#announcer.say(words, { urgent: true });
    }
    this.#root.querySelector("[data-part=bar]")?.toggleAttribute("hidden", isGone(error));
  }

  /**
   * @param {Page} page
   * @param {boolean} ended
   */
  #show(page, ended) {
    const { done, seconds } = this.#state;
    setText(this.#part("status"), statusWords(page.status));
    this.#part("status").dataset.status = page.status;
    this.#chart.update(this.#state);
    setText(this.#part("chart-words"), chartSentence(this.#state, ended));
    this.#part("unreadable").hidden = !this.#state.unreadable;
    setText(this.#part("time"), seconds > 0 ? `${formatDuration(seconds)} of training` : "");
    if (!ended) {
      const waiting = page.status === "queued";
      this.#announcer.say(waiting ? statusWords(page.status) : stageName(this.#state));
      setText(this.#part("stage"), progressWords(this.#state, page));
      const bar = find(this.#root, "[data-part=bar]", HTMLProgressElement);
      const known = { max: 1, value: this.#state.lastSeq > 0 && !waiting ? done : null };
      setAttributes(bar, page.total > 0 ? { max: page.total, value: page.done } : known);
    }
  }

  /** @param {string} name */
  #part(name) {
    return find(this.#root, `[data-part=${name}]`, HTMLElement);
  }
}

const root = find(document, "[data-page=policy]", HTMLElement);
fillNumbers(document);
confirmDeletion(document);
watchRows(document, undefined, () => undefined);
if (root.querySelector("[data-part=training]")) {
  const view = new TrainingView(root);
  poll(() => view.look(), EVERY_MILLISECONDS, (failures, error) => view.tellFailure(failures, error));
}
