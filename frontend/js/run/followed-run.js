/** The followed run: its events change its state as they come, and the page's store once for each frame. */

import { hasEnded } from "../jobs/job-state.js";
import { follow } from "../jobs/job-feed.js";
import { reduce } from "./run-state.js";

/** @typedef {import("./run-state.js").RunState} RunState */

export class FollowedRun {
  #store;
  #state;
  #onNews;
  #frame = 0;

  /**
   * @param {import("./store.js").Store<import("./page-state.js").PageState>} store
   * @param {RunState} first
   * @param {(state: RunState, isEnd: boolean) => void} onNews called for what is new of a run that works, or has just ended
   */
  constructor(store, first, onNews) {
    this.#store = store;
    this.#state = first;
    this.#onNews = onNews;
  }

  /** @param {(connection: import("../jobs/job-feed.js").Connection) => void} onConnection */
  follow(onConnection) {
    this.#store.set({ run: this.#state });
    follow({ state: () => this.#state, apply: (action) => this.#apply(action) }, onConnection);
  }

  /** @param {import("./run-state.js").EventsAction | import("./run-state.js").StatusAction} action */
  #apply(action) {
    const before = this.#state;
    this.#state = reduce(before, action);
    if (this.#state === before) {
      return;
    }
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#store.set({ run: this.#state });
    });
    if (!hasEnded(before.status)) {
      this.#onNews(this.#state, hasEnded(this.#state.status));
    }
  }
}
