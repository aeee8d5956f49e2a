/**
 * Moves by hand that are too many for an address, kept in this browser: the address names the draft.
 *
 * They stand in the browser's own storage, which outlives the page and the tab, and not beside the kept placements on the
 * server, which people name and others see.
 */

const PREFIX = "placeto-";
const NAME = /^draft-[0-9a-z]{1,11}$/;
/** Each move makes a draft; the latest ones are kept, so that the ways back and forward have what they had. */
const MOST_KEPT = 10;

/** Moves → name of those that this page has made or opened, also where the browser stores nothing. @type {Map<string, string>} */
const names = new Map();

/** @param {string} text */
export function isDraft(text) {
  return text.startsWith("draft-");
}

/**
 * @param {string} moves
 * @returns {string} the name of the draft that has them
 */
export function keepDraft(moves) {
  let name = names.get(moves);
  if (name === undefined) {
    name = `draft-${Math.random().toString(36).slice(2, 12)}`;
    names.set(moves, name);
    store(name, moves);
  }
  return name;
}

/**
 * @param {string} name
 * @returns {string | null} null: this browser does not have it
 */
export function draftOf(name) {
  const moves = [...names].find(([, each]) => each === name)?.[0] ?? (NAME.test(name) ? stored(name)?.moves : null);
  if (moves) {
    names.set(moves, name);
  }
  return moves ?? null;
}

/**
 * @param {string} name
 * @returns {boolean} whether it outlives the page
 */
export function isStored(name) {
  return stored(name) !== null;
}

/**
 * @param {string} name
 * @param {string} moves
 */
function store(name, moves) {
  try {
    const keys = Object.keys(localStorage).filter((key) => key.startsWith(`${PREFIX}draft-`));
    const oldest = keys.sort((one, other) => timeOf(one) - timeOf(other)).slice(0, Math.max(0, keys.length + 1 - MOST_KEPT));
    oldest.forEach((key) => localStorage.removeItem(key));
    localStorage.setItem(`${PREFIX}${name}`, JSON.stringify({ at: Date.now(), moves }));
  } catch {
    // the browser refuses to store it: `isStored` says so
  }
}

/** @param {string} key */
function timeOf(key) {
  return stored(key.slice(PREFIX.length))?.at ?? 0;
}

/**
 * @param {string} name
 * @returns {{ at: number, moves: string } | null}
 */
function stored(name) {
  try {
    const value = JSON.parse(localStorage.getItem(`${PREFIX}${name}`) ?? "null");
    return typeof value?.moves === "string" && typeof value.at === "number" ? value : null;
  } catch {
    return null;
  }
}
