/** The ops that a table shows, and their order: pure. */

/** @typedef {"index" | "name" | "type"} SortKey */

/**
 * @typedef {object} Wish
 * @property {string} search words that the name or the type has
 * @property {SortKey} key
 * @property {boolean} descending
 */

/**
 * @param {{ names: string[], short_names?: string[], types: readonly string[] }} ops untrusted text
 * @param {Wish} wish
 * @returns {Int32Array} the ops found, in the order wished for; equal ones in the order of the file
 */
export function orderOps({ names, short_names: short = names, types }, { search, key, descending }) {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [];
  for (let op = 0; op < names.length; op += 1) {
    if (words.length === 0 || hasAll(`${short[op]} ${names[op]} ${types[op]}`.toLowerCase(), words)) {
      found.push(op);
    }
  }
  if (key !== "index") {
    const texts = key === "name" ? short : types;
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
