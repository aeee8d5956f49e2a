/** The page of a graph: progress while it is read, then the grouped graph, the form of a run, and measurements. */

import { find, setAttributes, setText } from "../ui/dom.js";
import { showMethods } from "../compare/methods-table.js";
import { loadGraph } from "../graph/drawn-graph.js";
import { FlatPanel } from "../ops/flat-panel.js";
import { GraphPanel } from "../graph/graph-panel.js";
import { FIRST_GRAPH_STATE } from "../graph/graph-state.js";
import { Store } from "../run/store.js";
import { watchRows } from "../jobs/job-rows.js";
import { fillNumbers } from "../ui/page-numbers.js";
import { renewPart } from "../ui/page-part.js";
import { failureWords, poll } from "../jobs/poll.js";
import { enhanceRunForm } from "../forms/run-form.js";
import { getJson, isGone, showFailure } from "../ui/server.js";
import { TimeLeft } from "../ui/time-left.js";
import { stageWords, statusWords, WAITING } from "../jobs/words.js";

const EVERY_MILLISECONDS = 1000;

/** @param {HTMLElement} root */
function watchReading(root) {
  const bar = find(root, "progress", HTMLProgressElement);
  const words = find(root, "[data-part=stage]", HTMLElement);
  const timeLeft = new TimeLeft();
  const pill = find(root, "[data-part=status]", HTMLElement);
  poll(
    async () => {
      const news = /** @type {import("../ui/contracts.js").GraphStatus} */ (await getJson(`${root.dataset.address}status.json`));
      if (news.status === "ready" || news.status === "failed") {
        location.reload();
        return false;
      }
      setText(pill, statusWords(news.status));
      pill.dataset.status = news.status;
      setAttributes(bar, news.total > 0 ? { max: news.total, value: news.done } : { value: null });
      const left = timeLeft.words(news.stage, news.done, news.total, performance.now());
      setText(words, news.status === "queued" ? WAITING : `${stageWords({ ...news })}${left}` || statusWords(news.status));
      return true;
    },
    EVERY_MILLISECONDS,
    (failures, error) => {
      setText(words, failureWords("graph", failures, error) || String(words.textContent));
      bar.hidden = isGone(error);
    },
  );
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
} else if (root.dataset.status !== "failed") {
  watchReading(root);
}
