/** The legend under the chart: its marks in words, with their values. */

import { MEAN_WINDOW } from "./run-chart-drawing.js";
import { hasEnded } from "../jobs/job-state.js";
import { element } from "../ui/dom.js";
import { formatCount, formatTime, NOTHING } from "../ui/format.js";
import { errorSentence } from "../ui/sentences.js";

/** @type {WeakMap<Element, string>} */
const written = new WeakMap();

/**
 * @param {HTMLElement} host a list
 * @param {import("../run/run-state.js").RunState} state
 * @param {Record<string, string>} methodLabels method → label
 * @param {(token: string) => void} onShow called with the token of a baseline whose placement is to be shown
 */
export function chartLegend(host, state, methodLabels, onShow) {
  const entries = [
    ["episode", "Episode", shownWords(state)],
    ...(state.anyInfeasible ? [["infeasible", "Does not fit in memory", ""]] : []),
    ["best", "Best so far", ""],
    ["mean", `Mean of ${MEAN_WINDOW}`, ""],
    ...state.baselines.map((baseline) => [
      baseline.method,
      methodLabels[baseline.method] ?? baseline.method,
      value(baseline),
      errorSentence(baseline.note),
    ]),
    ...(state.started ? [["lower_bound", "Lower bound", formatTime(state.started.lower_bound_us || null)]] : []),
  ];
  const text = JSON.stringify(entries);
  if (written.get(host) !== text) {
    written.set(host, text);
    host.replaceChildren(
      ...entries.map(([key, name, words, title]) =>
        element("li", { title: title || null }, element("i", { class: `key is-${key}`, "aria-hidden": "true" }), label(key, name, state, onShow), element("b", {}, words)),
      ),
    );
  }
}

/**
 * The name of a mark; that of a baseline with a placement is a button that shows it.
 *
 * @param {string} key
 * @param {string} name
 * @param {import("../run/run-state.js").RunState} state
 * @param {(token: string) => void} onShow
 */
function label(key, name, { baselines }, onShow) {
  if (!baselines.some(({ method, placement }) => method === key && placement)) {
    return name;
  }
  const button = element("button", { type: "button", class: "link-button", title: "Show this placement" }, name);
  button.addEventListener("click", () => onShow(`baseline-${key}`));
  return button;
}

/**
 * @param {import("../run/run-state.js").RunState} state
 * @returns {string} how many of the episodes are points, where not all are; of a run that works, the numbers would change
 *   under the pointer
 */
function shownWords({ episodes, status }) {
  const last = episodes.last?.episode ?? 0;
  return hasEnded(status) && last > episodes.length ? `${formatCount(episodes.length)} of ${formatCount(last)} shown` : "";
}

/** @param {import("../ui/contracts.js").BaselineEvent} baseline */
function value({ method, step_time_us: best, mean_step_time_us: mean, evaluations, note }) {
  if (best === null) {
    return noteHead(note, method) || NOTHING;
  }
  return method === "random" && evaluations > 1 && mean !== null
    ? `best ${formatTime(best)}, mean ${formatTime(mean)}`
    : formatTime(best);
}

/**
 * The first words of a note, for places with little room: `does not fit in memory`.
 *
 * @param {string} note
 * @param {string} method with which notes of an earlier version begin
 * @returns {string}
 */
export function noteHead(note, method) {
  const own = note.startsWith(`${method}: `) ? note.slice(method.length + 2) : note;
  return own.split(/[:;]/)[0];
}
