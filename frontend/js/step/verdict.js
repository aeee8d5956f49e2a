/** One sentence or two that sum up the shown placement: how it compares, which device waits for what, what is left. */

import { areMany, unusedWords } from "../graph/devices-in-use.js";
import { ONE_DEVICE } from "../run/placements.js";
import { cutName, formatAgainst, formatBytes, formatPercent, formatShare, formatTime } from "../ui/format.js";
import { devicesInUse } from "./device-parts.js";
import { idleOfDevices } from "./step-words.js";
import { NONE } from "./step.js";

/** @typedef {import("./step.js").Step} Step */

/**
 * @typedef {object} Rival
 * @property {string} words such as `one device`
 * @property {number} stepTimeUs
 *
 * @typedef {ReturnType<typeof idleOfDevices>[number]} Idle
 */

const LONGEST_NAME = 48;
/** A device that runs less than this share of the step is said to have nothing to do, not to wait. */
const LEAST_BUSY = 0.1;
const LEAST_SHARE = 0.005;

/**
 * @param {object} about
 * @param {string} [about.name] of a placement that is no episode of the run
 * @param {boolean} [about.isSaid] whether the page says its time, and how it compares with one device, already
 * @param {string} [about.noun] what `stepTimeUs` is of: the step, or in a stream the period
 * @param {number} about.stepTimeUs
 * @param {boolean} about.feasible
 * @param {readonly Rival[]} about.rivals in the order in which they are named
 * @param {number | null} about.lowerBoundUs
 * @param {Step | null} about.step null: not explained yet
 * @param {readonly string[]} about.labels of devices
 * @param {(op: number) => string} about.groupName op → the name of its group
 * @returns {string}
 */
export function verdict({ name = "", isSaid = false, noun = "step", stepTimeUs, feasible, rivals, lowerBoundUs, step, labels, groupName }) {
  const unsaid = isSaid ? rivals.filter(({ words }) => words !== ONE_DEVICE) : rivals;
  const compared = unsaid.map(({ words, stepTimeUs: us }) => formatAgainst(stepTimeUs / us - 1, words));
  const rivalWords = compared.join(", ");
  const parts = [formatTime(stepTimeUs, 3), rivalWords].filter(Boolean);
  const named = name ? `${cutName(name, LONGEST_NAME)}: ${parts.join(", ")}` : parts.join(": ");
  const it = noun === "step" ? "It" : `By its ${noun} it`;
  const head = isSaid ? rivalWords && `${it} is ${rivalWords}` : named;
  const bound = lowerBoundUs && feasible ? `The ${noun} is ${formatPercent(stepTimeUs / lowerBoundUs - 1)} above the lower bound` : "";
  const waits = step ? waitingWords(step, labels, groupName) : "";
  const fits = feasible ? "" : "It does not fit in memory";
  return [head, fits, bound, waits].filter(Boolean).map((each) => `${each}.`).join(" ");
}

/**
 * The device that idles most of those that do much of the work, and what for: its shares of the step, which add up.
 *
 * @param {Step} step
 * @param {readonly string[]} labels of devices
 * @param {(op: number) => string} groupName
 * @returns {string} empty if no device that is used idles
 */
export function waitingWords(step, labels, groupName) {
  const { busy_us: busy, peaks } = step.texts;
  const idle = idleOfDevices(step);
  const inUse = areMany(labels.length) ? devicesInUse(step) : busy.map((us) => us > 0);
  const holds = (/** @type {number} */ device) => !areMany(labels.length) && !inUse[device] && peaks[device].bytes > 0;
  const holding = labels.flatMap((label, device) => (holds(device) ? [`${label} runs nothing and holds ${formatBytes(peaks[device].bytes)}`] : []));
  const unused = unusedWords(labels.filter((_, device) => !inUse[device] && !holds(device)), labels.length);
  const used = idle.filter(({ device, us }) => busy[device] >= LEAST_BUSY * step.stepTimeUs && us >= LEAST_SHARE * step.stepTimeUs);
  const most = used.reduce((/** @type {typeof used[number] | null} */ so, one) => (so && so.us >= one.us ? so : one), null);
  const parts = [];
  if (most) {
    parts.push(`${labels[most.device]} idles ${formatShare(most.us / step.stepTimeUs)} of the step${reasons(step, most, labels, groupName)}`);
  }
  return [...parts, ...holding, ...(unused ? [unused] : [])].join("; ");
}

/**
 * @param {Step} step
 * @param {Idle} idle
 * @param {readonly string[]} labels of devices
 * @param {(op: number) => string} groupName
 */
function reasons(step, idle, labels, groupName) {
  const words = {
    input: `while ${computingDevice(step, idle, labels)} computes its inputs`,
    link: "while its inputs are on a link",
    order: "while its inputs stand in a queue",
    end: "after its last op",
  };
  const causes = idle.causes.filter(({ us }) => us >= LEAST_SHARE * step.stepTimeUs);
  const parts = causes.map(({ name, us }) => ({ name, words: `${formatShare(us / step.stepTimeUs)} ${words[name]}` }));
  const waits = parts.filter(({ name }) => name !== "end");
  if (waits.length === 0) {
    return `, ${words.end}`;
  }
  const most = mostWaitedFor(step, idle, groupName);
  const inputs = most ? `, mostly to wait for ${cutName(most, LONGEST_NAME)}` : "";
  const end = waits.length < parts.length ? [parts.find(({ name }) => name === "end")] : [];
  return `${inputs}: ${[...waits, ...end].map((part) => part?.words).join(", ")}`;
}

/**
 * @param {Step} step
 * @param {Idle} idle
 * @param {readonly string[]} labels of devices
 * @returns {string} the device that computes while this one waits for it, where the others hardly run
 */
function computingDevice(step, { device, causes }, labels) {
  const waitsUs = causes.find(({ name }) => name === "input")?.us ?? 0;
  const others = step.texts.busy_us.map((us, index) => ({ us, label: labels[index] })).filter((_, index) => index !== device);
  const [first, ...rest] = others.sort((one, other) => other.us - one.us);
  return rest.reduce((sum, { us }) => sum + us, 0) <= LEAST_BUSY * waitsUs ? first.label : "another device";
}

/**
 * @param {Step} step
 * @param {Idle} idle
 * @param {(op: number) => string} groupName
 * @returns {string | null} the group for whose ops and transfers the device waits more than half of its idle time
 */
function mostWaitedFor(step, { device, us }, groupName) {
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
  return [...times].find(([, time]) => time > us / 2)?.[0] ?? null;
}
