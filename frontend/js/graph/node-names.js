/** Short names that still tell nodes apart. Pure. */

import { cutName } from "../ui/format.js";

const LONGEST = 26;
/** A last part that more than this share of the names has says nothing. */
const COMMON_SHARE = 0.2;
const LEAST_NAMES = 5;

/**
 * Names without the parts that all share at their beginning, and without a last part that many share (`conv` of
 * `block_1/branch_2/conv`), cut in the middle. Names that would become equal keep all of their parts.
 *
 * @param {readonly string[]} names path-like, untrusted text
 * @returns {string[]}
 */
export function nodeNames(names) {
  const paths = names.map((name) => name.split("/").filter(Boolean));
  const shared = names.length > 1 ? sharedParts(paths) : 0;
  /** @type {Map<string, number>} */
  const lasts = new Map();
  for (const path of paths) {
    const last = path.at(-1) ?? "";
    lasts.set(last, (lasts.get(last) ?? 0) + 1);
  }
  const isCommon = (/** @type {string} */ last) =>
    names.length >= LEAST_NAMES && (lasts.get(last) ?? 0) > COMMON_SHARE * names.length;
  const whole = paths.map((path, index) => path.slice(shared).join("/") || names[index]);
  const short = paths.map((path, index) => {
    const rest = path.slice(shared);
    return rest.length > 1 && isCommon(rest[rest.length - 1]) ? rest.slice(0, -1).join("/") : whole[index];
  });
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const name of short) {
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return short.map((name, index) => cutName((counts.get(name) ?? 0) > 1 ? whole[index] : name, LONGEST));
}

/**
 * @param {readonly (readonly string[])[]} paths
 * @returns {number} how many first parts all of them share, at least one part left to each
 */
function sharedParts(paths) {
  const shortest = paths.reduce((least, path) => Math.min(least, path.length), Infinity);
  let shared = 0;
  while (shared < shortest - 1 && paths.every((path) => path[shared] === paths[0][shared])) {
    shared += 1;
  }
  return shared;
}
