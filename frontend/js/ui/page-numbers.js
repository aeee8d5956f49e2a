/** Formats the raw numbers of a template for people. */

import { formatBytes, formatCount, formatDuration, formatFlops, formatGap, formatTime, NOTHING } from "./format.js";

/** @type {[string, (value: number) => string][]} */
const FORMS = [
  ["data-time-us", formatTime],
  ["data-bytes", formatBytes],
  ["data-count", formatCount],
  ["data-flops", formatFlops],
  ["data-seconds", formatDuration],
  ["data-gap", formatGap],
];

const WHEN = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });

/** @param {ParentNode} root */
export function fillNumbers(root) {
  for (const [attribute, format] of FORMS) {
    for (const target of root.querySelectorAll(`[${attribute}]`)) {
      const text = target.getAttribute(attribute) ?? "";
      target.textContent = text === "" || text === "None" ? NOTHING : format(Number(text));
    }
  }
  for (const time of root.querySelectorAll("time[datetime]")) {
    const when = new Date(time.getAttribute("datetime") ?? "");
    if (!Number.isNaN(when.getTime())) {
      time.textContent = WHEN.format(when);
    }
  }
}
