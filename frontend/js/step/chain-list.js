/** The critical chain of a step as a list, and the shares of its causes as a bar. */

import { element } from "../ui/dom.js";
import { cutName, formatBytes, formatCount, formatShare, formatTime } from "../ui/format.js";
import { cutNames, LONGEST_TITLE } from "../ui/names.js";
import { NONE } from "./step.js";
import { CAUSES } from "./step-words.js";

/** @typedef {import("./step.js").Step} Step */

const ROWS_AT_ONCE = 10;
const MOST_MORE = 50;
const LONGEST_NAME = 44;

export class ChainList {
  #host;
  #labels;
  #onChoose;
  #shown = ROWS_AT_ONCE;
  #inOrder = false;
  /** @type {Step | null} */
  #step = null;
  /** @type {(op: number) => string} */
  #nameOf = String;
  /** @type {(op: number) => string} */
  #wholeNameOf = String;

  /**
   * @param {HTMLElement} host
   * @param {readonly string[]} labels of devices
   * @param {(activity: number) => void} onChoose
   */
  constructor(host, labels, onChoose) {
    this.#host = host;
    this.#labels = labels;
    this.#onChoose = onChoose;
  }

  /**
   * @param {Step} step
   * @param {(op: number) => string} nameOf op → its name as people are shown it
   * @param {(op: number) => string} wholeNameOf op → its name in the file
   */
  show(step, nameOf, wholeNameOf) {
    this.#step = step;
    this.#nameOf = nameOf;
    this.#wholeNameOf = wholeNameOf;
    this.#shown = ROWS_AT_ONCE;
    this.#draw();
  }

  #draw() {
    const step = /** @type {Step} */ (this.#step);
    const segments = segmentsOf(step);
    if (!this.#inOrder) {
      segments.sort((one, other) => other.us - one.us);
    }
    const shown = segments.slice(0, this.#shown);
    const ops = [...new Set(shown.flatMap(({ activity, behind }) => [activity, behind]).filter((one) => one !== NONE).map((one) => step.opOf(one)))];
    const words = cutNames(ops.map(this.#nameOf), LONGEST_NAME);
    const wordsOf = new Map(ops.map((op, index) => [op, words[index]]));
    const rows = shown.map((segment) => this.#row(step, segment, wordsOf));
    const head = ["Part of the chain", "Where", "From", "Time", "Share"];
    const table = element(
      "table",
      { class: "chain" },
      element("caption", { class: "visually-hidden" }, "The parts of the critical chain"),
      element("thead", {}, element("tr", {}, ...head.map((text) => element("th", { scope: "col" }, text)))),
      element("tbody", {}, ...rows),
    );
    const left = segments.length - this.#shown;
    this.#host.replaceChildren(sharesBar(step), this.#orderChoice(), element("div", { class: "table-scroller" }, table));
    if (left > 0) {
      const more = element("button", { type: "button", class: "button" }, `Show ${Math.min(left, MOST_MORE)} more of ${formatCount(left)}`);
      more.addEventListener("click", () => {
        this.#shown += MOST_MORE;
        this.#draw();
      });
      this.#host.append(more);
    }
  }

  #orderChoice() {
    const box = element("input", { type: "checkbox" });
    box.checked = this.#inOrder;
    box.addEventListener("change", () => {
      this.#inOrder = box.checked;
      this.#draw();
      this.#host.querySelector("input")?.focus();
    });
    return element("label", { class: "check hint" }, box, " In order of time, not the longest first");
  }

  /**
   * @param {Step} step
   * @param {ReturnType<typeof segmentsOf>[number]} segment
   * @param {ReadonlyMap<number, string>} wordsOf op → its name as this table shows it
   */
  #row(step, segment, wordsOf) {
    const { activity, behind, startUs, us } = segment;
    const ops = (behind === NONE ? [activity] : [activity, behind]).map((one) => step.opOf(one));
    const title = ops.map((op) => cutName(this.#wholeNameOf(op), LONGEST_TITLE)).join(" · ");
    const button = element("button", { type: "button", class: "link-button name", title }, this.#words(step, segment, wordsOf));
    button.addEventListener("click", () => this.#onChoose(activity));
    return element(
      "tr",
      {},
      element("th", { scope: "row" }, button),
      element("td", {}, placeOf(step, activity, this.#labels)),
      element("td", { class: "number" }, formatTime(startUs)),
      element("td", { class: "number" }, formatTime(us)),
      element("td", { class: "number" }, formatShare(us / step.stepTimeUs)),
    );
  }

  /**
   * @param {Step} step
   * @param {ReturnType<typeof segmentsOf>[number]} segment
   * @param {ReadonlyMap<number, string>} wordsOf
   */
  #words(step, { activity, behind, cause }, wordsOf) {
    const name = wordsOf.get(step.opOf(activity));
    const what = step.isTransfer(activity) ? `the transfer of ${name}` : name;
    switch (cause) {
      case "compute":
        return `compute ${name}`;
      case "transfer":
        return `transfer ${formatBytes(step.array("transfer.bytes")[activity - step.opCount])} of ${name}`;
      case "queue":
        return `${what} waits behind ${wordsOf.get(step.opOf(behind))}`;
      case "rest":
        return `launch overhead before ${what}`;
      default:
        return behind === NONE ? `latency of ${what}` : `the link rests before ${what}`;
    }
  }
}

/**
 * @param {Step} step
 * @returns {{ activity: number, behind: number, cause: keyof typeof CAUSES, startUs: number, us: number }[]} in order of
 *   time
 */
export function segmentsOf(step) {
  const [activities, causes] = [step.array("chain.activity"), step.array("chain.cause")];
  const behind = step.array("chain.behind");
  const [starts, ends] = [step.array("chain.start_us"), step.array("chain.end_us")];
  return Array.from(activities, (activity, index) => ({
    activity,
    behind: behind[index],
    cause: /** @type {keyof typeof CAUSES} */ (step.texts.causes[causes[index]]),
    startUs: starts[index],
    us: ends[index] - starts[index],
  }));
}

/**
 * @param {Step} step
 * @param {number} activity
 * @param {readonly string[]} labels of devices
 * @returns {string}
 */
export function placeOf(step, activity, labels) {
  if (!step.isTransfer(activity)) {
    return labels[step.array("op.device")[activity]];
  }
  const transfer = activity - step.opCount;
  const to = step.destinations(transfer).map((device) => labels[device]);
  return `${labels[step.array("transfer.source")[transfer]]} → ${to.join(", ")}`;
}

/** @param {Step} step */
function sharesBar(step) {
  const { causes, cause_us: times } = step.texts;
  const parts = causes.map((cause, index) => ({ cause: /** @type {keyof typeof CAUSES} */ (cause), us: times[index] }));
  const shown = parts.filter(({ us }) => us > 0);
  const bar = element("div", { class: "shares", "aria-hidden": "true" });
  const list = element("ul", { class: "shares-legend" });
  for (const { cause, us } of shown) {
    const piece = element("span", { class: `share is-${cause}` });
    piece.style.flexGrow = String(us / step.stepTimeUs);
    bar.append(piece);
    list.append(
      element(
        "li",
        { title: CAUSES[cause].means, "data-cause": cause, "data-us": us },
        element("span", { class: `swatch is-${cause}`, "aria-hidden": "true" }),
        `${CAUSES[cause].label} ${formatTime(us)}, ${formatShare(us / step.stepTimeUs)}`,
      ),
    );
  }
  return element("div", { class: "shares-box" }, bar, list);
}
