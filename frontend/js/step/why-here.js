/** Why groups are where they are: what the step would be elsewhere, in one sentence. Pure. */

import { LEAST_GAIN } from "../graph/colouring.js";
import { formatTime, listed } from "../ui/format.js";

/** @typedef {import("../graph/devices.js").DeviceLook} DeviceLook */

/**
 * @param {readonly Pick<DeviceLook, "index" | "label">[]} looks
 * @param {number} current device of the groups; −1 if they are on several
 * @param {import("./gains.js").MoveGains} gains of moving them
 * @returns {string}
 */
export function whyHere(looks, current, { nowUs, stepTimesUs, missingBytes }) {
  const others = looks.filter(({ index }) => index !== current);
  const open = others.filter(({ index }) => stepTimesUs[index] !== null);
  const here = looks[current]?.label ?? null;
  if (open.length === 0) {
    return here ? `Only ${here} can run it.` : "No single device can run all of it.";
  }
  const fitting = open.filter(({ index }) => missingBytes[index] === 0);
  const full = open.filter((each) => !fitting.includes(each)).map(({ label }) => label);
  const room = full.length > 0 ? `${listed(full)} ${full.length === 1 ? "has" : "have"} no room for it` : "";
  if (fitting.length === 0) {
    return here ? `It is on ${here} since ${room}.` : `It is on several devices since ${room}.`;
  }
  const changes = fitting.map(({ index, label }) => ({ label, us: Number(stepTimesUs[index]) - nowUs })).sort((one, other) => one.us - other.us);
  const tail = room ? ` ${room[0].toUpperCase()}${room.slice(1)}.` : "";
  return `${changeSentence(changes, here, nowUs)}${tail}`;
}

/**
 * @param {readonly { label: string, us: number }[]} changes of the step by device, the best one first
 * @param {string | null} here null: several devices
 * @param {number} nowUs
 */
function changeSentence(changes, here, nowUs) {
  const [best] = changes;
  const worst = changes[changes.length - 1];
  if (best.us <= -LEAST_GAIN * nowUs) {
    const there = here ? best.label : `All of it on ${best.label}`;
    return `${there} would be better: the step would take ${formatTime(-best.us)} less.`;
  }
  if (changes.every(({ us }) => Math.abs(us) < LEAST_GAIN * nowUs)) {
    return "Where it runs hardly matters: no device changes the step by 0.1 %.";
  }
  const equal = best.us < LEAST_GAIN * nowUs;
  const rest = equal ? changes.filter(({ us }) => us >= LEAST_GAIN * nowUs) : changes;
  const longer = rest.length === 1 ? `${formatTime(worst.us)} longer` : `${formatTime(rest[0].us)} (${rest[0].label}) to ${formatTime(worst.us)} (${worst.label}) longer`;
  const range = `${rest.length === 1 ? `on ${worst.label}` : "elsewhere"} the step would take ${longer}`;
  if (equal) {
    return here ? `${here} and ${best.label} are as good as each other; ${range}.` : `All of it on ${best.label} would be as good as it is; ${range}.`;
  }
  return here ? `${here} is the best place: ${range}.` : `It is best spread as it is: with all of it ${rest.length === 1 ? `on ${worst.label}` : "on one device"} the step would take ${longer}.`;
}
