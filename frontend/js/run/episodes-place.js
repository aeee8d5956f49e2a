/** Where the episodes stand: first while the run works, in their tab once it has ended. */

import { hasEnded } from "../jobs/job-state.js";
import { find } from "../ui/dom.js";

/**
 * @param {HTMLElement} root of the page
 * @param {import("./store.js").Store<import("./page-state.js").PageState>} store
 * @param {import("../ui/tabs.js").Tabs} tabs
 */
export function placeEpisodes(root, store, tabs) {
  const part = (/** @type {string} */ name) => find(root, `[data-part=${name}]`, HTMLElement);
  const [watch, episodes, tab] = ["watch", "episodes", "episodes-place"].map(part);
  store.subscribe(["run"], ({ run }) => {
    const state = run && hasEnded(run.status) ? "ended" : "working";
    if (!run || state === watch.dataset.state) {
      return;
    }
    watch.dataset.state = state;
    if (state === "ended") {
      tab.append(episodes);
    } else {
      watch.prepend(episodes);
    }
    tabs.offer("episodes", state === "ended");
  });
}
