/** What each device does during a step, as parts that add up to it. Pure functions. */

import { inUseOf } from "../graph/devices-in-use.js";
import { idleSums } from "./step-words.js";

/** @typedef {import("./step.js").Step} Step */

/** Parts of a device's step → their words; the idle times go by their causes. */
export const DEVICE_PARTS = Object.freeze({
  busy: "Runs ops",
  rest: "Launch overhead",
  send: "Sends to other devices",
  input: "Idle: another device computes what it needs",
  link: "Idle: what it needs is on a link",
  order: "Idle: what it needs waits in a queue",
  end: "Idle: no further op",
});

/**
 * @param {Step} step
 * @returns {{ name: keyof typeof DEVICE_PARTS, us: number }[][]} [devices] the same parts of each, which add up to the step
 */
export function devicePartsOf(step) {
  const names = /** @type {(keyof typeof DEVICE_PARTS)[]} */ (["busy", "rest", "send", ...step.texts.idle_causes]);
  return idleSums(step).map((idle, device) => {
    const times = [step.texts.busy_us[device], step.texts.rest_us[device], step.texts.sending_us[device], ...idle];
    return names.map((name, index) => ({ name, us: times[index] }));
  });
}

/**
 * @param {Step} step
 * @returns {boolean[]} [devices] whether any op is there
 */
export function devicesInUse(step) {
  return inUseOf(step.texts.devices.length, step.array("op.device"));
}
