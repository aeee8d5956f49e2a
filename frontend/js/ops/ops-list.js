/** The ops that a table shows, and their order: pure. */

/** @typedef {"index" | "name" | "type"} SortKey */

/**
 * @typedef {object} Wish
 * @property {string} search words that the name or the type has
 * @property {SortKey} key
 * @property {boolean} descending
 */

/**
 * @param {{ names: readonly string[], types: readonly string[] }} ops untrusted text
 * @param {Wish} wish
 * @returns {Int32Array} the ops found, in the order wished for; equal ones in the order of the file
 */
export function orderOps({ names, types }, { search, key, descending }) {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [];
  for (let op = 0; op < names.length; op += 1) {
    if (words.length === 0 || hasAll(`${names[op]} ${types[op]}`.toLowerCase(), words)) {
      found.push(op);
    }
  }
  if (key !== "index") {
    const texts = key === "name" ? names : types;
    found.sort((one, other) => (texts[one] < texts[other] ? -1 : texts[one] > texts[other] ? 1 : one - other));
  }
  return Int32Array.from(descending ? found.reverse() : found);
}

/**
 * @param {string} text
 * @param {readonly string[]} words
 */
function hasAll(text, words) {
  return words.every((word) => text.includes(word));
}

/**
 * The end of a path-like name, in whole parts where they fit.
 *
 * @param {string} name untrusted text
 * @param {number} longest characters
 * @returns {string}
 */
export function tailOf(name, longest) {
  if (name.length <= longest) {
    return name;
  }
  const tail = name.slice(-Math.max(1, longest - 1));
  const slash = tail.indexOf("/");
  return `…${slash >= 0 && slash < tail.length - 1 ? tail.slice(slash + 1) : tail}`;
}
