/** The page of a project: uploads, and the state of what works in the background. */

import { find, setText } from "./dom.js";
import { formatCount, formatTime } from "./format.js";
import { fillNumbers } from "./page-numbers.js";
import { poll } from "./poll.js";
import { getJson } from "./server.js";
import { confirmDeletion } from "./confirm.js";
import { enhanceUpload } from "./upload.js";
import { stageWords, statusWords } from "./words.js";

const EVERY_MILLISECONDS = 2000;
const WORKING = new Set(["queued", "reading", "running"]);

/**
 * @param {HTMLElement} row with `data-status-url`
 * @returns {Promise<boolean>} whether it still works
 */
async function refreshRow(row) {
  const news = /** @type {Record<string, unknown>} */ (await getJson(String(row.dataset.statusUrl)));
  const status = String(news.status);
  const pill = find(row, "[data-part=status]", HTMLElement);
  pill.dataset.status = status;
  setText(pill, statusWords(status));
  const fields = {
    stage: stageWords(news),
    error: String(news.error ?? ""),
    used: typeof news.evaluations_used === "number" ? formatCount(news.evaluations_used) : null,
    best: "best_step_time_us" in news ? formatTime(/** @type {number | null} */ (news.best_step_time_us)) : null,
  };
  for (const [name, text] of Object.entries(fields)) {
    const part = row.querySelector(`[data-part=${name}]`);
    if (part && text !== null) {
      setText(part, text);
    }
  }
  const working = WORKING.has(status);
  if (!working && row.dataset.reload !== undefined) {
    location.reload(); // the row has more to tell than its status
  }
  return working;
}

fillNumbers(document);
confirmDeletion(document);
for (const form of document.querySelectorAll("form[data-upload]")) {
  if (form instanceof HTMLFormElement) {
    enhanceUpload(form);
  }
}
for (const row of document.querySelectorAll("[data-status-url]")) {
  if (row instanceof HTMLElement && WORKING.has(String(row.dataset.status))) {
    poll(() => refreshRow(row), EVERY_MILLISECONDS);
  }
}
