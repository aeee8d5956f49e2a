/**
 * What the page of a run shows: a pure value that stands in the page's address, so that a link opens the same picture.
 *
 * A placement has a token: `best` (the best episode so far), `simplest` (almost as fast), `live` (the newest episode),
 * `episode-17`, `baseline-single_device`, `placement-ID` (a kept one), or one of these with moves by hand (`moves.js`).
 */

import { groupsOfRanges, LONGEST_IN_ADDRESS, partsOfToken, rangesOf } from "./moves.js";

/**
 * @typedef {object} View
 * @property {string} shown token of the shown placement; empty: `live` while the run works, then `best`
 * @property {string | null} against token of the placement that it is compared with
 * @property {boolean} beside whether both are drawn beside each other, not the differences alone
 * @property {string} colour what the groups are coloured by
 * @property {readonly number[]} groups the selected groups; the last one is the chosen one
 * @property {readonly string[]} opened the opened scopes
 * @property {readonly number[]} locked groups that no move changes
 * @property {Drawn | ""} drawn what the picture of the graph shows; empty: what suits the graph
 * @property {readonly number[]} blocks the open blocks, where the picture shows blocks
 *
 * @typedef {"blocks" | "groups" | "ops"} Drawn
 */

/** @type {View} */
export const FIRST_VIEW = Object.freeze({ shown: "", against: null, beside: false, colour: "device", groups: Object.freeze([]), opened: Object.freeze([]), locked: Object.freeze([]), drawn: "", blocks: Object.freeze([]) });

/** A name, which is untrusted text, then nothing or one more part. */
const NAME = /^[a-z]+(-[\w-]{1,100})?$/;
const MOST_OPENED = 50;
/** @type {readonly Drawn[]} */
const PICTURES = Object.freeze(["blocks", "groups", "ops"]);
/** Of more selected groups an address names the chosen one alone: servers refuse addresses of some thousand characters. */
const MOST_SELECTED = 400;

/**
 * The view of an address. What it does not know or cannot read is left as in `FIRST_VIEW`.
 *
 * @param {string} search such as `?show=episode-17&group=3,7`
 * @returns {View}
 */
export function viewOf(search) {
  const fields = new URLSearchParams(search);
  return Object.freeze({
    shown: tokenOf(fields.get("show")) ?? FIRST_VIEW.shown,
    against: tokenOf(fields.get("against")),
    beside: fields.get("beside") === "1",
    colour: nameOf(fields.get("colour")) ?? FIRST_VIEW.colour,
    groups: Object.freeze(numbersOf(fields.getAll("group").join(","), MOST_SELECTED)),
    drawn: PICTURES.find((each) => each === fields.get("draw")) ?? FIRST_VIEW.drawn,
    blocks: Object.freeze(numbersOf(fields.getAll("blocks").join(","), MOST_OPENED)),
    opened: Object.freeze(fields.getAll("open").slice(0, MOST_OPENED)),
    locked: Object.freeze(groupsOfRanges(fields.get("lock") ?? "")),
  });
}

/**
 * The query of an address: what differs from `FIRST_VIEW`, beside the fields of `search` that are no view.
 *
 * @param {View} view
 * @param {string} [search] the address so far
 * @returns {string} empty, or beginning with `?`
 */
export function searchOf(view, search = "") {
  const fields = new URLSearchParams(search);
  for (const name of ["show", "against", "beside", "colour", "group", "open", "lock", "draw", "blocks"]) {
    fields.delete(name);
  }
  set(fields, "show", view.shown);
  set(fields, "against", view.against ?? "");
  set(fields, "beside", view.beside ? "1" : "");
  set(fields, "colour", view.colour === FIRST_VIEW.colour ? "" : view.colour);
  set(fields, "group", (view.groups.length > MOST_SELECTED ? view.groups.slice(-1) : view.groups).join(","));
  const locked = rangesOf(view.locked);
  set(fields, "lock", locked.length > LONGEST_IN_ADDRESS ? "" : locked);
  set(fields, "draw", view.drawn);
  set(fields, "blocks", view.blocks.slice(-MOST_OPENED).join(","));
  for (const scope of view.opened) {
    fields.append("open", scope);
  }
  const text = fields.toString().replace(/%(2C|3A|7E)/g, decodeURIComponent); // which an address may have as they are
  return text && `?${text}`;
}

/**
 * @param {View} view
 * @param {Partial<View>} patch
 * @returns {View} the same one where nothing changes
 */
export function withChange(view, patch) {
  const next = Object.freeze({ ...view, ...patch });
  return searchOf(next) === searchOf(view) ? view : next;
}

/**
 * @param {URLSearchParams} fields
 * @param {string} name
 * @param {string} value
 */
function set(fields, name, value) {
  if (value) {
    fields.set(name, value);
  }
}

/**
 * @param {string} text such as `3,7,12`
 * @param {number} most
 * @returns {number[]} each number once, the last ones; what is no number is left out
 */
function numbersOf(text, most) {
  const numbers = text.split(",").filter((each) => /^\d{1,7}$/.test(each)).map(Number);
  return [...new Set(numbers)].slice(-most);
}

/**
 * @param {string | null} text
 * @returns {string | null} a token; its moves are read once the placement is known that they are made from
 */
function tokenOf(text) {
  return nameOf(text && partsOfToken(text).base) && text;
}

/**
 * @param {string | null} text
 * @returns {string | null}
 */
function nameOf(text) {
  return text !== null && NAME.test(text) ? text : null;
}
