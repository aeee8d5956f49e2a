/** The server's errors as sentences: what is wrong and where, what to do, what is allowed. */

const ALLOWED = "; allowed: ";

/**
 * An error of the engine, `graph.pb: the file is empty; allowed: a graph with at least one op`, as sentences. A file's or
 * field's name at the start stays as it is.
 *
 * @param {string} text
 * @returns {string} empty for an empty text
 */
export function errorSentence(text) {
  const [what, ...allowed] = text.trim().split(ALLOWED);
  const sentences = allowed.length > 0 ? [what, `Allowed: ${allowed.join(ALLOWED)}`] : [what];
  return sentences.map(sentence).join(" ").trim();
}

/**
 * @param {string} text
 * @returns {string} with a capital letter, if it begins with a word, and a full stop
 */
function sentence(text) {
  const begun = /^[a-z]+[ ,]/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
  return begun === "" || /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}
