/** Names of a drawing's nodes that still tell them apart. Pure. */

import { cutNames } from "../ui/names.js";

const LONGEST = 26;

/**
 * Names without the parts that all share at their beginning, as in an opened scope, cut in the middle.
 *
 * @param {readonly string[]} names path-like, untrusted text
 * @returns {string[]}
 */
export function nodeNames(names) {
  const paths = names.map((name) => name.split("/"));
  const shared = names.length > 1 ? sharedParts(paths) : 0;
  return cutNames(paths.map((path) => path.slice(shared).join("/")), LONGEST);
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
