/**
 * Rows that show the states of jobs: each has `data-job` (its kind), `data-job-id` and `data-status`. One request
 * fetches the states of all rows of a page.
 */

import { element, setAttributes, setText } from "../ui/dom.js";
import { formatCount, formatTime } from "../ui/format.js";
import { failureWords, poll } from "./poll.js";
import { errorSentence } from "../ui/sentences.js";
import { getJson } from "../ui/server.js";
import { stageWords, statusWords } from "./words.js";

/**
 * @typedef {object} Job
 * @property {string} kind
 * @property {string} id
 *
 * @typedef {Record<string, Record<string, Record<string, unknown>>>} States kind → id → state, without deleted jobs
 */

/** The most jobs in one answer of the server. */
export const MOST_AT_ONCE = 200;
const EVERY_MILLISECONDS = 2000;
const WORKING = new Set(["queued", "reading", "running"]);
const DELETED = { status: "deleted", stage: "" };

/**
 * Fetch the states of all rows whose jobs still work, until none does.
 *
 * @param {ParentNode} root
 * @param {(rows: HTMLElement[]) => Promise<unknown> | void} [onEnd] called with the rows that have ended since; called again
 *   with them if it throws
 * @param {(failures: number, error: unknown) => void} [onFailure] for a page that shows an outage itself
 */
export function watchRows(root, onEnd = () => undefined, onFailure = showOutage) {
  if (workingRows(root).length > 0) {
    poll(() => refreshRows(root, onEnd), EVERY_MILLISECONDS, onFailure);
  }
}

/**
 * @param {ParentNode} root
 * @param {(rows: HTMLElement[]) => Promise<unknown> | void} onEnd
 * @returns {Promise<boolean>} whether any still works
 */
async function refreshRows(root, onEnd) {
  const rows = workingRows(root);
  const states = await statesOf(rows.map(jobOf));
  for (const row of rows) {
    showState(row, stateOf(states, row) ?? DELETED);
  }
  const ended = rows.filter((row) => !WORKING.has(String((stateOf(states, row) ?? DELETED).status)));
  if (ended.length > 0) {
    await onEnd(ended);
    for (const row of ended) {
      row.dataset.status = "ended";
    }
    for (const row of workingRows(root)) {
      showState(row, stateOf(states, row) ?? {}); // `onEnd` may have replaced it
    }
  }
  return workingRows(root).length > 0;
}

/**
 * @param {ParentNode} root
 * @returns {HTMLElement[]}
 */
function workingRows(root) {
  const rows = [...root.querySelectorAll("[data-job]")].filter((row) => row instanceof HTMLElement);
  return rows.filter((row) => row.isConnected && WORKING.has(String(row.dataset.status)));
}

/**
 * @param {HTMLElement} row
 * @returns {Job}
 */
function jobOf(row) {
  return { kind: String(row.dataset.job), id: String(row.dataset.jobId) };
}

/**
 * @param {States} states
 * @param {HTMLElement} row
 * @returns {Record<string, unknown> | undefined}
 */
function stateOf(states, row) {
  const { kind, id } = jobOf(row);
  return states[kind]?.[id];
}

/**
 * @param {Job[]} jobs
 * @returns {Promise<States>}
 */
async function statesOf(jobs) {
  /** @type {States} */
  const states = {};
  for (const address of addressesOf(jobs)) {
    const answer = /** @type {States} */ (await getJson(address));
    for (const [kind, ofKind] of Object.entries(answer)) {
      states[kind] = { ...states[kind], ...ofKind };
    }
  }
  return states;
}

/**
 * @param {Job[]} jobs
 * @returns {string[]} the addresses of their states: one for each `MOST_AT_ONCE` jobs
 */
export function addressesOf(jobs) {
  /** @type {string[]} */
  const addresses = [];
  for (let from = 0; from < jobs.length; from += MOST_AT_ONCE) {
    /** @type {Map<string, string[]>} */
    const ids = new Map();
    for (const { kind, id } of jobs.slice(from, from + MOST_AT_ONCE)) {
      ids.set(kind, [...(ids.get(kind) ?? []), id]);
    }
    addresses.push(`/states.json?${[...ids].map(([kind, ofKind]) => `${kind}=${ofKind.join(",")}`).join("&")}`);
  }
  return addresses;
}

/**
 * @param {HTMLElement} row
 * @param {Record<string, unknown>} state parts without a value in it stay as they are
 */
function showState(row, state) {
  if (state.status === undefined) {
    return;
  }
  const status = String(state.status);
  row.querySelector("[data-part=status]")?.setAttribute("data-status", status);
  for (const [name, text] of Object.entries(rowTexts(state))) {
    const part = row.querySelector(`[data-part=${name}]`);
    if (part && text !== null) {
      const waiting = name === "stage" && status === "queued" ? (part.getAttribute("data-waiting") ?? "") : "";
      setText(part, text || waiting);
    }
  }
  const bar = row.querySelector("[data-part=bar]");
  if (bar) {
    setAttributes(bar, Number(state.total) > 0 ? { max: Number(state.total), value: Number(state.done) } : { value: null });
  }
}

/**
 * The texts of a row's parts; null if the state has no value for one.
 *
 * @param {Record<string, unknown>} state
 * @returns {Record<string, string | null>}
 */
export function rowTexts(state) {
  return {
    status: statusWords(String(state.status)),
    stage: stageWords(state),
    error: errorSentence(String(state.error ?? "")),
    used: typeof state.evaluations_used === "number" ? formatCount(state.evaluations_used) : null,
    best: "best_step_time_us" in state ? formatTime(/** @type {number | null} */ (state.best_step_time_us)) : null,
  };
}

/**
 * Show a notice at the top of the page while the server does not answer.
 *
 * @param {number} failures in a row
 * @param {unknown} error
 */
function showOutage(failures, error) {
  const words = failureWords("page", failures, error);
  const shown = document.querySelector("[data-part=outage]");
  if (failures === 0) {
    shown?.remove();
  } else if (words && !shown) {
    const notice = { class: "notice", "data-kind": "warning", "data-part": "outage", role: "alert" };
    document.querySelector("main")?.prepend(element("p", notice, words));
  }
}
