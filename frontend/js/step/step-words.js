/** Sentences about a step. Their numbers are the engine's. */

import { formatBytes, formatShare, formatTime, listed } from "../ui/format.js";
import { NONE } from "./step.js";

/** @typedef {import("./step.js").Step} Step */

/** Share of the step below which a sentence leaves a part out. */
const LEAST_SHARE = 0.005;

/** Cause of a segment of the critical chain → its words, and what they mean. */
export const CAUSES = Object.freeze({
  compute: { label: "Compute", means: "Ops of the chain run." },
  transfer: { label: "Transfer", means: "What an op of the chain needs is on a link between devices." },
  link: { label: "Link latency and rest", means: "The latency of links, and their rest after each transfer." },
  rest: { label: "Launch overhead", means: "A device needs this time to launch its next op." },
  queue: {
    label: "Waiting in a queue",
    means: "The next op or transfer of the chain could begin, but others run first on its device or link.",
  },
});

/** Cause of a segment of the critical chain → what its time goes to. */
const SPENT_ON = Object.freeze({
  compute: "computing",
  transfer: "transfers",
  link: "link latency and rest",
  rest: "launch overhead",
  queue: "waiting in queues",
});

/** Cause of an idle time → what the device waits for. */
export const IDLE_CAUSES = Object.freeze({
  input: "another device computes what it needs",
  link: "what it needs is on a link, or waits for one",
  order: "what it needs stands in the queue of another device",
  end: "it has no further op in this step",
});

/** Lower bound → what it is of. */
const BOUNDS = Object.freeze({
  path: "the longest chain of ops takes that long even if nothing waits",
  work: "the devices need that long for the work even if they share it evenly",
  memory: "no device has room for all of a chain, which takes that long with one transfer",
});

/** Class of bytes → its words. */
export const BYTE_CLASSES = Object.freeze({
  weights: { label: "Weights", means: "Variables that are trained, those that the graph only reads, and constants." },
  slots: { label: "Optimizer slots", means: "The optimizer’s own variables, such as momentum." },
  state: { label: "Other state", means: "Counters, moving means: variables updated without an optimizer." },
  activations: { label: "Activations", means: "Outputs, gradients among them, on the device that makes them." },
  copies: { label: "Copies", means: "Outputs that came from another device." },
  temporaries: { label: "Temporaries", means: "Room that an op takes while it runs." },
  inputs: { label: "Fed inputs", means: "What is fed: its caller holds it during the whole step." },
});

/** Cause of a segment of the critical chain, but for devices at work → its words after a share of the step. */
const BESIDE_WORK = Object.freeze({
  transfer: "data is sent between devices",
  linkQueue: "data waits behind other transfers",
  link: "links have their latency and rest",
  rest: "a device launches ops",
});

/**
 * What the step's time goes to, in a sentence or two.
 *
 * @param {Step} step
 * @returns {string}
 */
export function stepSentence(step) {
  const { step_time_us: stepTimeUs, causes, cause_us: times } = step.texts;
  if (!(stepTimeUs > 0)) {
    return "The step takes no time.";
  }
  const of = new Map(causes.map((cause, index) => [cause, times[index]]));
  const ownUs = of.get("compute") ?? 0;
  const linkQueueUs = waitsBehindTransfers(step);
  const aheadUs = Math.max(0, (of.get("queue") ?? 0) - linkQueueUs);
  const share = (/** @type {number} */ us) => formatShare(us / stepTimeUs);
  const works = [[ownUs, "those of the chain"], [aheadUs, "others ahead of them in the queue"]]
    .flatMap(([us, words]) => (Number(us) / stepTimeUs >= LEAST_SHARE ? [`${share(Number(us))} ${words}`] : []));
  const details = works.length > 1 || aheadUs > ownUs ? ` (${works.join(", ")})` : "";
  const work = works.length > 0 ? `for ${share(ownUs + aheadUs)} of it a device runs ops${details}` : "";
  const rest = /** @type {[keyof typeof BESIDE_WORK, number][]} */ ([["transfer", of.get("transfer") ?? 0], ["linkQueue", linkQueueUs], ["link", of.get("link") ?? 0], ["rest", of.get("rest") ?? 0]])
    .filter(([, us]) => us / stepTimeUs >= LEAST_SHARE)
    .sort(([, one], [, other]) => other - one)
    .map(([cause, us]) => `for ${share(us)} ${BESIDE_WORK[cause]}`);
  return `The critical chain takes ${formatTime(stepTimeUs, 4)}: ${[...(work ? [work] : []), ...rest].join("; ")}.`;
}

/**
 * @param {Step} step
 * @returns {number} µs of the critical chain in which what is needed waits behind other transfers
 */
function waitsBehindTransfers(step) {
  const [behind, causes] = [step.array("chain.behind"), step.array("chain.cause")];
  const [starts, ends] = [step.array("chain.start_us"), step.array("chain.end_us")];
  const queue = step.texts.causes.indexOf("queue");
  let us = 0;
  for (let index = 0; index < behind.length; index += 1) {
    us += causes[index] === queue && behind[index] !== NONE && step.isTransfer(behind[index]) ? ends[index] - starts[index] : 0;
  }
  return us;
}

/**
 * What sets the lower bound, and what of the critical chain is no computing, where the step is longer.
 *
 * @param {Step} step
 * @returns {string}
 */
export function boundSentence(step) {
  const { lower_bound_us: boundUs, bounds_us: bounds, causes, cause_us: times } = step.texts;
  if (!(boundUs > 0)) {
    return "";
  }
  const names = /** @type {(keyof typeof BOUNDS)[]} */ (Object.keys(bounds));
  const largest = names.reduce((so, one) => (bounds[one] > bounds[so] ? one : so));
  const head = `No placement can be faster than ${formatTime(boundUs)}: ${BOUNDS[largest]}.`;
  const moreUs = step.stepTimeUs - boundUs;
  if (moreUs < 0.0005 * step.stepTimeUs) {
    return step.feasible ? `${head} This step reaches it.` : head;
  }
  const parts = causes
    .map((cause, index) => ({ cause: /** @type {keyof typeof CAUSES} */ (cause), us: times[index] }))
    .filter(({ cause, us }) => cause !== "compute" && us / step.stepTimeUs >= 0.005)
    .sort((one, other) => other.us - one.us)
    .map(({ cause, us }) => `${formatTime(us)} on ${SPENT_ON[cause]}`);
  const rest = parts.length > 0 ? `Besides computing, its critical chain spends ${listed(parts)}` : "Its critical chain only computes";
  return `${head} This step takes ${formatTime(moreUs)} more. ${rest}.`;
}

/**
 * @param {Step} step
 * @returns {{ device: number, us: number, causes: { name: keyof typeof IDLE_CAUSES, us: number }[] }[]} by device; the
 *   causes by their times, the longest first
 */
export function idleOfDevices(step) {
  const names = /** @type {(keyof typeof IDLE_CAUSES)[]} */ (step.texts.idle_causes);
  return idleSums(step).map((times, device) => ({
    device,
    us: times.reduce((sum, us) => sum + us, 0),
    causes: times.map((us, cause) => ({ name: names[cause], us })).sort((one, other) => other.us - one.us),
  }));
}

/**
 * @param {Step} step
 * @returns {number[][]} [devices, causes] idle times in µs
 */
export function idleSums(step) {
  const causes = step.texts.idle_causes.length;
  const sums = step.texts.devices.map(() => new Array(causes).fill(0));
  const [devices, waits] = [step.array("idle.device"), step.array("idle.waits_us")];
  for (let index = 0; index < devices.length; index += 1) {
    for (let cause = 0; cause < causes; cause += 1) {
      sums[devices[index]][cause] += waits[index * causes + cause];
    }
  }
  return sums;
}

/**
 * @param {{ bytes: number, time_us: number }} peak
 * @param {number} limit of its device, in bytes
 * @returns {string}
 */
export function peakSentence({ bytes, time_us: timeUs }, limit) {
  const over = bytes > limit ? `, ${formatBytes(bytes - limit)} more than it has` : "";
  return `Peak ${formatBytes(bytes)} of ${formatBytes(limit)} at ${formatTime(timeUs)}${over}`;
}
