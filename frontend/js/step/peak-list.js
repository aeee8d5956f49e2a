/** What fills the memory of each device at its peak: by class, and the largest holdings with what would free them. */

import { element } from "../ui/dom.js";
import { cutName, formatBytes, formatShare } from "../ui/format.js";
import { cutNames, LONGEST_TITLE } from "../ui/names.js";
import { NONE } from "./step.js";
import { BYTE_CLASSES, peakSentence } from "./step-words.js";

/** @typedef {import("./step.js").Step} Step */
/** @typedef {import("../graph/devices.js").DeviceLook} DeviceLook */

const SHOWN = 10;
const LONGEST_NAME = 60;

/**
 * @param {Step} step
 * @param {readonly DeviceLook[]} looks
 * @param {(op: number) => string} nameOf op → its name as people are shown it
 * @param {(op: number) => string} wholeNameOf op → its name in the file
 * @param {(activity: number) => void} onChoose
 * @returns {HTMLElement[]} one a device that holds anything
 */
export function peakLists(step, looks, nameOf, wholeNameOf, onChoose) {
  return looks
    .filter(({ index }) => step.texts.peaks[index].bytes > 0)
    .map(({ index, label }) =>
      element(
        "details",
        { class: "peak", "data-device": index },
        element("summary", {}, `${label}: ${peakSentence(step.texts.peaks[index], step.texts.memory_bytes[index])}`),
        peakClasses(step.texts.byte_classes, step.texts.peaks[index].bytes_of_class),
        holdings(step, index, nameOf, wholeNameOf, onChoose),
      ),
    );
}

/**
 * @param {readonly string[]} names of the classes
 * @param {readonly number[]} sums [classes] in bytes, at the peak
 */
export function peakClasses(names, sums) {
  const bytes = sums.reduce((sum, held) => sum + held, 0);
  const rows = names
    .map((name, index) => ({ name: /** @type {keyof typeof BYTE_CLASSES} */ (name), bytes: sums[index] }))
    .filter((row) => row.bytes > 0)
    .sort((one, other) => other.bytes - one.bytes);
  return element(
    "ul",
    { class: "peak-classes" },
    ...rows.map(({ name, bytes: held }) =>
      element(
        "li",
        { title: BYTE_CLASSES[name].means, "data-bytes": held },
        `${BYTE_CLASSES[name].label} ${formatBytes(held)}, ${formatShare(held / bytes)}`,
      ),
    ),
  );
}

/**
 * @param {Step} step
 * @param {number} device
 * @param {(op: number) => string} nameOf
 * @param {(op: number) => string} wholeNameOf
 * @param {(activity: number) => void} onChoose
 */
function holdings(step, device, nameOf, wholeNameOf, onChoose) {
  const first = step.array("peak.first");
  const from = first[device];
  const count = Math.min(first[device + 1] - from, SHOWN);
  const words = cutNames(Array.from({ length: count }, (_, index) => nameOf(step.array("peak.op")[from + index])), LONGEST_NAME);
  const rows = Array.from({ length: count }, (_, index) => {
    const at = from + index;
    const op = step.array("peak.op")[at];
    const until = step.array("peak.until")[at];
    const name = /** @type {keyof typeof BYTE_CLASSES} */ (step.texts.byte_classes[step.array("peak.class")[at]]);
    return element(
      "tr",
      {},
      element("th", { scope: "row" }, chooser(words[index], wholeNameOf(op), () => onChoose(op))),
      element("td", {}, BYTE_CLASSES[name].label),
      element("td", { class: "number" }, formatBytes(step.array("peak.bytes")[at])),
      element("td", {}, until === NONE ? "held during the whole step" : freed(step, until, nameOf, wholeNameOf, onChoose)),
    );
  });
  const head = ["Held", "Class", "Bytes", "Freed by"];
  return element(
    "div",
    { class: "table-scroller" },
    element(
      "table",
      {},
      element("caption", { class: "visually-hidden" }, "The largest holdings at the peak"),
      element("thead", {}, element("tr", {}, ...head.map((text) => element("th", { scope: "col" }, text)))),
      element("tbody", {}, ...rows),
    ),
  );
}

/**
 * @param {Step} step
 * @param {number} activity
 * @param {(op: number) => string} nameOf
 * @param {(op: number) => string} wholeNameOf
 * @param {(activity: number) => void} onChoose
 */
function freed(step, activity, nameOf, wholeNameOf, onChoose) {
  const what = step.isTransfer(activity) ? "the end of its transfer" : `the end of ${cutName(nameOf(activity), 50)}`;
  return chooser(what, wholeNameOf(step.opOf(activity)), () => onChoose(activity));
}

/**
 * @param {string} words
 * @param {string} wholeName of the op
 * @param {() => void} act
 */
function chooser(words, wholeName, act) {
  const button = element("button", { type: "button", class: "link-button name", title: cutName(wholeName, LONGEST_TITLE) }, words);
  button.addEventListener("click", act);
  return button;
}
