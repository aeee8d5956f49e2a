/** The page of a search for plans: follows it live, and later replays the same events into its chart. */

import { PlanChart } from "../chart/plan-chart.js";
import { soFarWords } from "../chart/plan-points.js";
import { offerEndNotice } from "../jobs/end-notice.js";
import { connectionWords, follow } from "../jobs/job-feed.js";
import { hasEnded } from "../jobs/job-state.js";
import { initialState, reduce } from "../jobs/plan-state.js";
import { SERVER_UPDATED, statusWords, WAITING } from "../jobs/words.js";
import { Announcer } from "../ui/announcer.js";
import { find, setAttributes, setText } from "../ui/dom.js";
import { watchDownloads } from "../ui/downloads.js";
import { counted, formatCount } from "../ui/format.js";
import { renewPart } from "../ui/page-part.js";
import { tendMenus } from "../ui/menu.js";
import { fillNumbers } from "../ui/page-numbers.js";
import { shareLinks } from "../ui/share.js";

/** @typedef {import("../jobs/plan-state.js").ToldPlan} ToldPlan */

const RETRY_MILLISECONDS = 2000;
const PARTS = ["actions", "verdict-part", "result"];

class PlanPage {
  #root;
  #names;
  #chart;
  #state;
  #worked;
  /** Why nothing new comes; empty while all is well. */
  #lost = "";
  /** @type {Announcer | null} */
  #announcer = null;
  #frame = 0;

  /**
   * @param {HTMLElement} root
   * @param {import("../chart/plan-points.js").Names} names
   */
  constructor(root, names) {
    this.#root = root;
    this.#names = names;
    this.#chart = new PlanChart(this.#part("chart"), this.#part("shown"), this.#part("twin"), this.#names);
    this.#state = initialState(/** @type {import("../ui/contracts.js").RunStatus} */ (root.dataset.status));
    this.#worked = !hasEnded(this.#state.status);
    if (this.#worked) {
      this.#announcer = new Announcer(this.#part("announcer"));
    }
  }

  start() {
    this.#chart.update([]);
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
    follow(store, (connection) => this.#onConnection(connection));
  }

  /** @param {import("../jobs/job-feed.js").Connection} connection */
  #onConnection(connection) {
    if (connection === "ended" && this.#worked) {
      this.#worked = false;
      void this.#renew();
    }
    this.#lost = connectionWords(connection, "search");
    if (this.#lost) {
      this.#announcer?.say(this.#lost, { urgent: true });
    }
    this.#show();
  }

  /** Fetch what an ended search has more to show: the verdict, the tables, the download. */
  async #renew() {
    try {
      for (const name of PARTS) {
        await renewPart(name);
      }
      shareLinks(document); // the menu is a new one
      this.#announcer = null;
      this.#show();
    } catch {
      setTimeout(() => this.#renew(), RETRY_MILLISECONDS);
    }
  }

  #show() {
    const { status, plans, unreadable } = this.#state;
    setText(this.#part("status"), statusWords(status));
    this.#part("status").dataset.status = status;
    this.#chart.update([...plans, ...untold(plans)]);
    if (unreadable) {
      this.#announcer?.say(SERVER_UPDATED, { urgent: true });
    }
    if (this.#announcer) {
      this.#showProgress();
    }
  }

  #showProgress() {
    const { status, plans, done, total } = this.#state;
    const line = this.#root.querySelector("[data-part=so-far]");
    if (line) {
      const words = status === "queued" ? WAITING : soFarWords(plans, this.#names) || "Searching…";
      setText(line, words);
      this.#announcer?.say(words);
    }
    const bar = this.#root.querySelector("[data-part=bar]");
    if (bar) {
      setAttributes(bar, total > 0 ? { max: total, value: done } : { value: null });
    }
    const words = this.#root.querySelector("[data-part=progress-words]");
    if (words) {
      setText(words, this.#lost || (total > 0 ? `${formatCount(done)} of ${counted(total, "candidate")} tried or left out` : "You can leave this page."));
    }
  }

  /** @param {string} name */
  #part(name) {
    return find(this.#root, `[data-part=${name}]`, HTMLElement);
  }
}

/**
 * What the report has beside the plans that events told: an estimate, which is no plan.
 *
 * @param {readonly ToldPlan[]} plans
 * @returns {ToldPlan[]}
 */
function untold(plans) {
  const told = new Set(plans.map(({ usual }) => usual));
  /** @type {ToldPlan[]} */
  const reported = JSON.parse(find(document, "#reported", HTMLScriptElement).text);
  return reported.filter(({ usual }) => !told.has(usual)).map((plan) => ({ ...plan, replicas: [], is_best: false }));
}

fillNumbers(document);
shareLinks(document);
tendMenus(document);
watchDownloads(document);
offerEndNotice(document);
new PlanPage(find(document, "[data-page=plans]", HTMLElement), JSON.parse(find(document, "#plan", HTMLScriptElement).text)).start();
