/** Writes the raw numbers, times and errors of a template for people. */

import { setText } from "./dom.js";
import { formatAge, formatBytes, formatCount, formatDuration, formatFlops, formatGap, formatPercent, formatTime, NOTHING } from "./format.js";
import { errorSentence } from "./sentences.js";

/** @type {[string, (value: number) => string][]} */
const FORMS = [
  ["data-time-us", formatTime],
  ["data-bytes", formatBytes],
  ["data-count", formatCount],
  ["data-flops", formatFlops],
  ["data-seconds", formatDuration],
  ["data-gap", formatGap],
  ["data-percent", formatPercent],
];

let timer = 0;

const WHEN = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });

/** @param {ParentNode} root */
export function fillNumbers(root) {
  for (const [attribute, format] of FORMS) {
    for (const target of root.querySelectorAll(`[${attribute}]`)) {
      const text = target.getAttribute(attribute) ?? "";
      target.textContent = text === "" || text === "None" ? NOTHING : format(Number(text));
    }
  }
  for (const error of root.querySelectorAll(".errorlist li, [data-error]")) {
    setText(error, errorSentence(error.textContent ?? ""));
  }
  showAges(root);
  timer ||= window.setInterval(() => showAges(document), 60_000);
}

/**
 * Times as ages, with the date in a tip; older ones as dates, and all of a page that is kept as a file.
 *
 * @param {ParentNode} root
 */
function showAges(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const when = new Date(time.getAttribute("datetime") ?? "");
    if (!Number.isNaN(when.getTime())) {
      const date = WHEN.format(when);
      const age = document.querySelector("[data-file]") ? "" : formatAge((Date.now() - when.getTime()) / 1000);
      setText(time, age || date);
      time.setAttribute("title", date);
    }
  }
}
