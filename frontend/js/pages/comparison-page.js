/** The page of a comparison: its figure and table follow its runs until all have ended. */

import { ComparisonChart } from "../chart/comparison-chart.js";
import { stateWords } from "../chart/comparison-model.js";
import { initialState, reduce } from "../jobs/comparison-state.js";
import { offerEndNotice } from "../jobs/end-notice.js";
import { connectionWords, follow } from "../jobs/job-feed.js";
import { watchRows } from "../jobs/job-rows.js";
import { SERVER_UPDATED } from "../jobs/words.js";
import { Announcer } from "../ui/announcer.js";
import { find } from "../ui/dom.js";
import { watchDownloads } from "../ui/downloads.js";
import { tendMenus } from "../ui/menu.js";
import { shareLinks } from "../ui/share.js";
import { fillNumbers } from "../ui/page-numbers.js";
import { renewPart } from "../ui/page-part.js";

/** @typedef {import("../jobs/comparison-state.js").ComparisonState} ComparisonState */

const RETRY_MILLISECONDS = 2000;

class ComparisonPage {
  #chart = new ComparisonChart(find(document, "[data-part=chart]", HTMLElement));
  #announcer = new Announcer(find(document, "[data-part=state]", HTMLElement));
  #state;
  #inTable;
  #toCancel;
  /** @type {Promise<void> | null} */
  #renewing = null;

  /** @param {ComparisonState} shown */
  constructor(shown) {
    this.#state = initialState(shown);
    this.#inTable = tableOf(shown);
    this.#toCancel = works(shown);
  }

  start() {
    this.#show();
    if (works(this.#state.shown)) {
      /** @type {import("../jobs/job-feed.js").Store} */
      const store = { state: () => this.#state, apply: (action) => this.#apply(action) };
      follow(store, (connection) => this.#showConnection(connection));
    }
  }

  /** @param {Parameters<typeof reduce>[1]} action */
  #apply(action) {
    const before = this.#state;
    this.#state = reduce(before, action);
    if (this.#state.shown !== before.shown) {
      this.#show();
    }
    if (this.#state.unreadable) {
      this.#announcer.say(SERVER_UPDATED, { urgent: true });
    }
  }

  #show() {
    const { shown } = this.#state;
    this.#chart.update(shown);
    this.#announcer.say(stateWords(shown), { urgent: shown.ended === shown.total });
    this.#renewing ??= this.#renewParts().finally(() => {
      this.#renewing = null;
    });
  }

  /** Fetch the table until it is as new as the figure; one request at a time. */
  async #renewParts() {
    try {
      while (this.#inTable !== tableOf(this.#state.shown)) {
        const table = tableOf(this.#state.shown);
        await renewPart("table", "table.html");
        this.#inTable = table;
      }
      if (this.#toCancel && !works(this.#state.shown)) {
        await renewPart("cancel");
        this.#toCancel = false;
      }
    } catch {
      setTimeout(() => this.#show(), RETRY_MILLISECONDS); // the feed shows that the server cannot be reached
    }
  }

  /** @param {import("../jobs/job-feed.js").Connection} connection */
  #showConnection(connection) {
    const lost = connectionWords(connection, "comparison");
    this.#announcer.say(lost || stateWords(this.#state.shown), { urgent: true });
  }
}

/** @param {ComparisonState} state */
function tableOf(state) {
  return JSON.stringify(state.methods.map((row) => ({ ...row, band: null })));
}

/** @param {ComparisonState} state */
function works(state) {
  return state.ended < state.total;
}

fillNumbers(document);
tendMenus(document);
shareLinks(document);
offerEndNotice(document);
watchDownloads(document);
watchRows(document, undefined, () => undefined);
new ComparisonPage(JSON.parse(find(document, "#comparison", HTMLScriptElement).text)).start();
