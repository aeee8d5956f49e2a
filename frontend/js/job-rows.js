/** Rows that tell the state of what works in the background: `data-status-url` and `data-status` at each. */

import { setAttributes, setText } from "./dom.js";
import { formatCount, formatTime } from "./format.js";
import { poll } from "./poll.js";
import { getJson } from "./server.js";
import { stageWords, statusWords } from "./words.js";

const EVERY_MILLISECONDS = 2000;
const WORKING = new Set(["queued", "reading", "running"]);

/**
 * Ask for the state of every row that still works, until it does not.
 *
 * @param {ParentNode} root
 * @param {(row: HTMLElement) => void} onEnd called once for each
 */
export function watchRows(root, onEnd) {
  for (const row of root.querySelectorAll("[data-status-url]")) {
    if (row instanceof HTMLElement && WORKING.has(String(row.dataset.status))) {
      poll(() => refreshRow(row, onEnd), EVERY_MILLISECONDS);
    }
  }
}

/**
 * @param {HTMLElement} row
 * @param {(row: HTMLElement) => void} onEnd
 * @returns {Promise<boolean>} whether it still works
 */
async function refreshRow(row, onEnd) {
  if (!row.isConnected) {
    return false;
  }
  const news = /** @type {Record<string, unknown>} */ (await getJson(String(row.dataset.statusUrl)));
  const status = String(news.status);
  row.querySelector("[data-part=status]")?.setAttribute("data-status", status);
  for (const [name, text] of Object.entries(rowTexts(news))) {
    const part = row.querySelector(`[data-part=${name}]`);
    if (part && text !== null) {
      const waiting = name === "stage" && status === "queued" ? (part.getAttribute("data-waiting") ?? "") : "";
      setText(part, text || waiting);
    }
  }
  const bar = row.querySelector("[data-part=bar]");
  if (bar) {
    setAttributes(bar, Number(news.total) > 0 ? { max: Number(news.total), value: Number(news.done) } : { value: null });
  }
  if (WORKING.has(status)) {
    return true;
  }
  onEnd(row);
  return false;
}

/**
 * The texts of a row's parts; null where the answer says nothing of it.
 *
 * @param {Record<string, unknown>} news
 * @returns {Record<string, string | null>}
 */
export function rowTexts(news) {
  return {
    status: statusWords(String(news.status)),
    stage: stageWords(news),
    error: String(news.error ?? ""),
    used: typeof news.evaluations_used === "number" ? formatCount(news.evaluations_used) : null,
    best: "best_step_time_us" in news ? formatTime(/** @type {number | null} */ (news.best_step_time_us)) : null,
  };
}
