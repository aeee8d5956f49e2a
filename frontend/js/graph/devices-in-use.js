/** Which devices the views list: where there are many, those that have something to do in what is shown. Pure. */

import { counted } from "../ui/format.js";

/** So many devices are all listed, with nothing to do too. */
const MOST_LISTED = 16;
/** Of many devices, so many with nothing to do have names. */
const MOST_NAMED = 4;

/** @param {number} count of devices */
export function areMany(count) {
  return count > MOST_LISTED;
}

/**
 * @param {number} count of devices
 * @param {readonly boolean[] | null} inUse [devices] null: not known yet, so the first ones stand for all
 * @returns {{ listed: number[], words: string }} the devices of a view, and a line about the others; empty: there are none
 */
export function listedDevices(count, inUse) {
  const all = Array.from({ length: count }, (_, device) => device);
  if (!areMany(count)) {
    return { listed: all, words: "" };
  }
  const listed = inUse ? all.filter((device) => inUse[device]) : all.slice(0, MOST_LISTED);
  const more = counted(count - listed.length, "more device");
  const words = inUse ? `${more} ${count - listed.length === 1 ? "has" : "have"} nothing to do` : more;
  return { listed, words: listed.length < count ? words : "" };
}

/**
 * @param {readonly string[]} unused labels of the devices with nothing to do
 * @param {number} count of all devices
 * @returns {string} empty: each has something to do
 */
export function unusedWords(unused, count) {
  const isNamed = !areMany(count) || unused.length <= MOST_NAMED;
  const who = isNamed ? unused.join(", ") : counted(unused.length, "device");
  return unused.length === 0 ? "" : `${who} ${unused.length === 1 ? "has" : "have"} nothing to do`;
}

/**
 * @param {number} count of devices
 * @param {Iterable<number>} places devices that have something to do, in any order; others than devices do not count
 * @returns {boolean[]} [devices]
 */
export function inUseOf(count, places) {
  const inUse = new Array(count).fill(false);
  for (const device of places) {
    if (device >= 0 && device < count) {
      inUse[device] = true;
    }
  }
  return inUse;
}
