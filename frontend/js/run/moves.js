/**
 * Moves by hand as a text, for addresses: `12-15.20:1,40:0` moves groups 12 to 15 and 20 to device 1, then 40 to device 0.
 *
 * The token of a placement by hand is that of the placement it was made of, `~`, and such a text, or the name of a draft
 * where the text is too long for an address: `episode-17~40:0`, `best~draft-1k2jx`.
 */

import { cutName, formatCount } from "../ui/format.js";
import { draftOf, isDraft, keepDraft } from "./drafts.js";
import { newTrial } from "./trial.js";

/** @typedef {import("./trial.js").Move} Move */
/** @typedef {import("./trial.js").Trial} Trial */

/** Characters: an address also names two placements and what is selected, and servers refuse some thousand. */
export const LONGEST_IN_ADDRESS = 1500;
const SEPARATOR = "~";
/** No graph has more. */
const MOST_GROUPS = 1_000_000;
const MOVE = /^(\d{1,7}(?:-\d{1,7})?(?:\.\d{1,7}(?:-\d{1,7})?)*):(\d{1,4})$/;

/**
 * @param {string} search of an address
 * @returns {string} why a link cannot have its moves; empty: it can, or there are none
 */
export function whyNoLink(search) {
  const fields = new URLSearchParams(search);
  const isHere = ["show", "against"].some((name) => isDraft(partsOfToken(fields.get(name) ?? "").moves));
  return isHere ? "The moves by hand are too many for a link. Keep the placement, then share it." : "";
}

/** Why the moves of an address cannot be made, in a sentence. */
export class MovesError extends Error {}

/**
 * @param {string} token
 * @returns {{ base: string, moves: string }} `moves` is empty where nothing is moved by hand
 */
export function partsOfToken(token) {
  const at = token.indexOf(SEPARATOR);
  return at < 0 ? { base: token, moves: "" } : { base: token.slice(0, at), moves: token.slice(at + 1) };
}

/**
 * @param {string} base token of the placement that they are made from
 * @param {readonly Move[]} moves
 * @returns {string} token of the placement that they make
 */
export function tokenWithMoves(base, moves) {
  const text = textOfMoves(moves);
  return `${base}${SEPARATOR}${text.length > LONGEST_IN_ADDRESS ? keepDraft(text) : text}`;
}

/**
 * @param {readonly Move[]} moves
 * @returns {string}
 */
export function textOfMoves(moves) {
  return moves.map(({ groups, device }) => `${rangesOf(groups)}:${device}`).join(",");
}

/**
 * The moves of a token, made to the placement that it names.
 *
 * @param {ArrayLike<number>} base [groups]
 * @param {string} text behind the separator
 * @param {number} devices how many there are
 * @returns {Trial} throws MovesError
 */
export function trialOf(base, text, devices) {
  return Object.freeze({ ...newTrial(base), moves: Object.freeze(movesOf(wholeText(text), base.length, devices)) });
}

/**
 * @param {string} text
 * @returns {string} that of the draft, if it names one
 */
function wholeText(text) {
  if (isDraft(text)) {
    const draft = draftOf(text);
    if (draft === null) {
      throw new MovesError("The moves of this address are too many for an address. Only the browser in which they were made had them; keep such a placement to share it.");
    }
    return draft;
  }
  if (text.length > LONGEST_IN_ADDRESS) {
    throw new MovesError(`The moves of this address take ${formatCount(text.length)} characters; allowed: ${formatCount(LONGEST_IN_ADDRESS)}.`);
  }
  return text;
}

/**
 * @param {string} text
 * @param {number} groups
 * @param {number} devices
 * @returns {Move[]}
 */
function movesOf(text, groups, devices) {
  return text.split(",").map((each) => {
    const [, ranges, device] = MOVE.exec(each) ?? [];
    if (ranges === undefined) {
      throw new MovesError(`The moves of this address cannot be read at “${cutName(each, 40)}”; allowed: groups and their device, such as 3.12-15:1.`);
    }
    if (Number(device) >= devices) {
      throw new MovesError(`The moves of this address name device ${device}; allowed: 0 to ${devices - 1}.`);
    }
    return Object.freeze({ groups: Object.freeze(ranges.split(".").flatMap((range) => groupsOf(range, groups))), device: Number(device) });
  });
}

/**
 * The groups of a text that `rangesOf` made; what is no such text names none.
 *
 * @param {string} text
 * @returns {number[]}
 */
export function groupsOfRanges(text) {
  if (text.length > LONGEST_IN_ADDRESS || !MOVE.test(`${text}:0`)) {
    return [];
  }
  try {
    return text.split(".").flatMap((range) => groupsOf(range, MOST_GROUPS));
  } catch {
    return [];
  }
}

/**
 * @param {string} range such as `12` or `12-15`
 * @param {number} groups
 * @returns {number[]}
 */
function groupsOf(range, groups) {
  const [first, last = first] = range.split("-").map(Number);
  if (last >= groups || last < first) {
    throw new MovesError(`The moves of this address name group ${range}; allowed: 0 to ${groups - 1}.`);
  }
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

/**
 * Groups as an address has them.
 *
 * @param {readonly number[]} groups
 * @returns {string} such as `3.12-15`
 */
export function rangesOf(groups) {
  /** @type {[number, number][]} */
  const ranges = [];
  for (const group of [...groups].sort((one, other) => one - other)) {
    const last = ranges.at(-1);
    if (last && group <= last[1] + 1) {
      last[1] = group;
    } else {
      ranges.push([group, group]);
    }
  }
  return ranges.map(([first, last]) => (first === last ? first : `${first}-${last}`)).join(".");
}
