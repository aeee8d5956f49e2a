/** One sentence or two that sum up the shown placement: how it compares, which device waits for what, what is left. */

import { cutName, formatAgainst, formatPercent, formatShare, formatTime } from "../ui/format.js";
import { IDLE_CAUSES, idleOfDevices } from "./step-words.js";
import { NONE } from "./step.js";

/** @typedef {import("./step.js").Step} Step */

/**
 * @typedef {object} Rival
 * @property {string} words such as `one device`
 * @property {number} stepTimeUs
 */

const LONGEST_NAME = 48;
/** A device that runs less than this share of the step is said to have nothing to do, not to wait. */
const LEAST_BUSY = 0.05;
const LEAST_SHARE = 0.005;

/**
 * @param {object} about
 * @param {number} about.stepTimeUs
 * @param {boolean} about.feasible
 * @param {readonly Rival[]} about.rivals in the order in which they are named
 * @param {number | null} about.lowerBoundUs
 * @param {Step | null} about.step null: not explained yet
 * @param {readonly string[]} about.labels of devices
 * @param {(op: number) => string} about.groupName op → the name of its group
 * @returns {string}
 */
export function verdict({ stepTimeUs, feasible, rivals, lowerBoundUs, step, labels, groupName }) {
  const compared = rivals.map(({ words, stepTimeUs: us }) => formatAgainst(stepTimeUs / us - 1, words));
  const head = [formatTime(stepTimeUs, 3), compared.join(", ")].filter(Boolean).join(": ");
  const bound = lowerBoundUs && feasible ? `${formatPercent(stepTimeUs / lowerBoundUs - 1)} above the lower bound` : "";
  const waits = step ? waitingWords(step, labels, groupName) : "";
  const tail = [waits, bound].filter(Boolean).join("; ");
  const fits = feasible ? "" : " It does not fit in memory.";
  return `${head}.${fits}${tail ? ` ${tail[0].toUpperCase()}${tail.slice(1)}.` : ""}`;
}

/**
 * The device that idles most of those that do much of the work, and what it mostly waits for.
 *
 * @param {Step} step
 * @param {readonly string[]} labels of devices
 * @param {(op: number) => string} groupName
 * @returns {string} empty if no device that is used idles
 */
export function waitingWords(step, labels, groupName) {
  const idle = idleOfDevices(step);
  const unused = idle.filter(({ device }) => step.texts.busy_us[device] === 0).map(({ device }) => labels[device]);
  const used = idle.filter(
    ({ device, us }) =>
      step.texts.busy_us[device] >= LEAST_BUSY * step.stepTimeUs && us >= LEAST_SHARE * step.stepTimeUs,
  );
  const most = used.reduce((/** @type {typeof used[number] | null} */ so, one) => (so && so.us >= one.us ? so : one), null);
  const parts = most ? [`${labels[most.device]} idles ${formatShare(most.us / step.stepTimeUs)}, ${reason(step, most, groupName)}`] : [];
  if (unused.length > 0) {
    parts.push(`${unused.join(", ")} ${unused.length === 1 ? "has" : "have"} nothing to do`);
  }
  return parts.join("; ");
}

/**
 * @param {Step} step
 * @param {ReturnType<typeof idleOfDevices>[number]} idle
 * @param {(op: number) => string} groupName
 */
function reason(step, { device, causes }, groupName) {
  const waited = waitedFor(step, device, groupName);
  const [cause] = causes;
  if (cause.name === "end" || waited === null) {
    return `mostly because ${IDLE_CAUSES[cause.name]}`;
  }
  return `mostly waiting for ${cutName(waited, LONGEST_NAME)}`;
}

/**
 * @param {Step} step
 * @param {number} device
 * @param {(op: number) => string} groupName
 * @returns {string | null} the group for whose ops and transfers the device waits longest
 */
function waitedFor(step, device, groupName) {
  /** @type {Map<string, number>} */
  const times = new Map();
  const [devices, activities] = [step.array("idle.device"), step.array("idle.activity")];
  const [starts, ends] = [step.array("idle.start_us"), step.array("idle.end_us")];
  for (let index = 0; index < devices.length; index += 1) {
    if (devices[index] === device && activities[index] !== NONE) {
      const name = groupName(step.opOf(activities[index]));
      times.set(name, (times.get(name) ?? 0) + ends[index] - starts[index]);
    }
  }
  const [first] = [...times].sort(([, one], [, other]) => other - one);
  return first ? first[0] : null;
}
