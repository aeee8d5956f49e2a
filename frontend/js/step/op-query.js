/**
 * What a person looks for among the ops of a step: `conv > 5 ms critical gpu 0`.
 *
 *     word            part of the name, the type, the group or the device
 *     "two words"     the same, with spaces; `gpu 0` needs no quotes
 *     -word           not that
 *     critical        on the critical chain
 *     > 5 ms          runs longer; also <, >=, <=; `slack < 1 ms` and `start > 2 ms` compare other times
 *
 * An op is found if every part holds.
 */

/**
 * @typedef {object} OpFacts of one op
 * @property {string} text its name, type, group and device in lower case, with a line break between them
 * @property {number} timeUs
 * @property {number} slackUs
 * @property {number} startUs
 * @property {boolean} critical
 *
 * @typedef {(op: OpFacts) => boolean} Holds
 *
 * @typedef {object} OpQuery
 * @property {readonly Holds[]} parts
 * @property {string} error what cannot be read, or empty
 */

const UNITS_US = new Map([["ns", 0.001], ["µs", 1], ["μs", 1], ["us", 1], ["ms", 1000], ["s", 1_000_000]]);
const COMPARISON = /(?:\b(time|slack|start)\s*)?([<>]=?)\s*(?:(\d+(?:[.,]\d+)?)\s*([a-zµμ]+)?)?/gi;
const DEVICE = /(^|\s)(-?)([gc]pu) (\d+)(?=\s|$)/gi;
const PART = /(-?)(?:"([^"]*)"|(\S+))/g;

/**
 * @param {string} text
 * @returns {OpQuery}
 */
export function parseOpQuery(text) {
  /** @type {Holds[]} */
  const parts = [];
  let error = "";
  const words = text.replace(COMPARISON, (whole, field, operator, number, unit) => {
    const factor = UNITS_US.get((unit ?? "").toLowerCase());
    if (number === undefined || factor === undefined) {
      error = `“${whole.trim()}” needs a time with its unit, such as ${operator} 5 ms`;
    } else {
      parts.push(comparison(field?.toLowerCase() ?? "time", operator, Number(number.replace(",", ".")) * factor));
    }
    return " ";
  });
  for (const [, not, quoted, plain] of words.replace(DEVICE, '$1$2"$3 $4"').matchAll(PART)) {
    const word = (quoted ?? plain).toLowerCase();
    const holds = plain === "critical" ? isCritical : hasText(word);
    if (word) {
      parts.push(not ? (op) => !holds(op) : holds);
    }
  }
  return { parts, error };
}

/**
 * @param {OpQuery} query
 * @param {OpFacts} op
 */
export function matches({ parts }, op) {
  return parts.every((holds) => holds(op));
}

/** @type {Holds} */
function isCritical({ critical }) {
  return critical;
}

/**
 * @param {string} word
 * @returns {Holds}
 */
function hasText(word) {
  return ({ text }) => text.includes(word);
}

/**
 * @param {string} field
 * @param {string} operator
 * @param {number} us
 * @returns {Holds}
 */
function comparison(field, operator, us) {
  const value = { time: valueOf("timeUs"), slack: valueOf("slackUs"), start: valueOf("startUs") }[field] ?? valueOf("timeUs");
  switch (operator) {
    case ">":
      return (op) => value(op) > us;
    case "<":
      return (op) => value(op) < us;
    case ">=":
      return (op) => value(op) >= us;
    default:
      return (op) => value(op) <= us;
  }
}

/**
 * @param {"timeUs" | "slackUs" | "startUs"} name
 * @returns {(op: OpFacts) => number}
 */
function valueOf(name) {
  return (op) => op[name];
}
