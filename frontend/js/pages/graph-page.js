/** The page of a graph: progress while it is read, then the grouped graph, the form of a run, and measurements. */

import { find, setAttributes, setText } from "../ui/dom.js";
import { showMethods } from "../compare/methods-table.js";
import { loadGraph } from "../graph/drawn-graph.js";
import { FlatPanel } from "../ops/flat-panel.js";
import { GraphPanel } from "../graph/graph-panel.js";
import { FIRST_GRAPH_STATE } from "../graph/graph-state.js";
import { Store } from "../run/store.js";
import { connectionWords, follow } from "../jobs/job-feed.js";
import { watchRows } from "../jobs/job-rows.js";
import { hasEnded } from "../jobs/job-state.js";
import { tendMenus } from "../ui/menu.js";
import { fillNumbers } from "../ui/page-numbers.js";
import { renewPart } from "../ui/page-part.js";
import { enhanceRunForm } from "../forms/run-form.js";
import { getJson, showFailure } from "../ui/server.js";
import { shareLinks } from "../ui/share.js";
import { TimeLeft } from "../ui/time-left.js";
import { stageWords, statusWords, WAITING } from "../jobs/words.js";

/** @typedef {import("../ui/contracts.js").GraphStatus} GraphStatus */

/** @param {HTMLElement} root */
function watchReading(root) {
  const bar = find(root, "progress", HTMLProgressElement);
  const words = find(root, "[data-part=stage]", HTMLElement);
  const pill = find(root, "[data-part=status]", HTMLElement);
  const timeLeft = new TimeLeft();
  let status = String(root.dataset.status);
  const show = (/** @type {GraphStatus} */ news) => {
    ({ status } = news);
    if (hasEnded(status)) {
      return; // the feed has ended too: the page is loaded again
    }
    setText(pill, statusWords(status));
    pill.dataset.status = status;
    setAttributes(bar, news.total > 0 ? { max: news.total, value: news.done } : { value: null });
    const left = timeLeft.words(news.stage, news.done, news.total, performance.now());
    setText(words, status === "queued" ? WAITING : `${stageWords({ ...news })}${left}` || statusWords(status));
  };
  const reading = {
    state: () => ({ status, lastSeq: 0, missing: false }), // it has no events
    apply: (/** @type {{ type: string }} */ action) => action.type === "status" && show(/** @type {any} */ (action)),
  };
  follow(reading, (connection) => {
    if (connection === "ended") {
      location.reload(); // the page now has more to show
      return;
    }
    setText(words, connectionWords(connection, "graph") || String(words.textContent));
    bar.hidden = connection === "gone";
  });
}

/** @param {HTMLElement} root */
async function showGraph(root) {
  try {
    const graph = await loadGraph(`${root.dataset.address}view.json`, find(root, "[data-part=canvas]", HTMLElement));
    const store = new Store(FIRST_GRAPH_STATE);
    const panel = new GraphPanel(root, graph, [], [], { keys: ["time", "bytes", "source", "cpu"] }, store);
    const kind = find(root, "select[data-part=kind]", HTMLSelectElement);
    kind.addEventListener("change", () => panel.showKind(kind.value));
    panel.showKind(kind.value);
    await new FlatPanel(root, panel, graph.groups, [], store, { listsOps: true }).start();
  } catch (error) {
    showFailure(find(root, "[data-part=canvas]", HTMLElement), "The graph cannot be shown.", error, () => showGraph(root));
  }
}

/** @param {HTMLElement | null} part absent until a run has ended */
async function showMethodsOf(part) {
  if (!part) {
    return;
  }
  const tables = find(part, "[data-part=methods-tables]", HTMLElement);
  try {
    showMethods(tables, /** @type {import("../compare/methods-table.js").Methods} */ (await getJson(String(part.dataset.address))));
    if (location.hash === "#methods-title") {
      part.scrollIntoView(); // it has grown since the browser went there
    }
  } catch (error) {
    showFailure(tables, "The methods cannot be shown.", error, () => showMethodsOf(part));
  }
}

/** Links to fields that may be folded away: a link unfolds its field and moves the focus there. */
function followFieldLinks() {
  for (const link of document.querySelectorAll("a[data-to-field]")) {
    link.addEventListener("click", (event) => {
      const field = document.getElementById((link.getAttribute("href") ?? "").slice(1));
      field?.closest("details")?.setAttribute("open", "");
      field?.focus();
      event.preventDefault();
    });
  }
}

const root = find(document, "[data-page=graph]", HTMLElement);
fillNumbers(document);
shareLinks(document);
tendMenus(document);
followFieldLinks();
if (root.dataset.status === "ready") {
  for (const form of document.querySelectorAll("form[data-run-form]")) {
    if (form instanceof HTMLFormElement) {
      enhanceRunForm(form);
    }
  }
  showGraph(root);
  showMethodsOf(root.querySelector("[data-part=methods]"));
  watchRows(root, async (rows) => {
    if (rows.some(({ dataset }) => ["profile", "measurement"].includes(String(dataset.job)))) {
      await renewPart("profiles");
    }
  });
} else if (!["failed", "asking"].includes(String(root.dataset.status))) {
  watchReading(root);
}
