/**
 * Names of ops, groups and scopes as pages show them. The server says what is shown of a name (`short_name`, the same
 * in every view); what does not fit is cut here, in the middle. Pure.
 */

import { cutName } from "./format.js";

/** Of a name that is shown on hover. */
export const LONGEST_TITLE = 500;

/**
 * @param {{ name: string, short_name?: string }} named a group, a scope or an op; untrusted text
 * @returns {string} its short name. A browser may keep answers of an older version, without one, for a day
 */
export function shownName({ name, short_name: short }) {
  return short ?? name;
}

/**
 * @param {{ names: string[], short_names?: string[] }} ops
 * @returns {string[]} [ops] the same of all ops
 */
export function shownNames({ names, short_names: short }) {
  return short ?? names;
}

/**
 * Names for the rows of one table or the nodes of one drawing, cut in the middle. Where two would look the same, more
 * of them is shown.
 *
 * @param {readonly string[]} names untrusted text
 * @param {number} longest characters
 * @returns {string[]}
 */
export function cutNames(names, longest) {
  const cut = names.map((name) => cutName(name, longest));
  const most = names.reduce((length, name) => Math.max(length, name.length), 0);
  for (let room = 2 * longest; ; room *= 2) {
    const alike = sameWords(names, cut);
    for (const index of alike) {
      cut[index] = cutName(names[index], room);
    }
    if (alike.length === 0 || room > WIDEST_CHARACTER * most) {
      return cut;
    }
  }
}

/** Characters of one that is written out, such as `\u202e`. */
const WIDEST_CHARACTER = 6;

/**
 * @param {readonly string[]} names
 * @param {readonly string[]} cut
 * @returns {number[]} the places of different names that look the same
 */
function sameWords(names, cut) {
  /** @type {Map<string, number[]>} */
  const places = new Map();
  for (const [index, words] of cut.entries()) {
    places.get(words)?.push(index) ?? places.set(words, [index]);
  }
  return [...places.values()].filter((same) => same.some((index) => names[index] !== names[same[0]])).flat();
}
