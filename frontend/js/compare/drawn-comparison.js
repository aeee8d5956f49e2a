/** What a comparison was drawn from: drawn again from the same, it would take the rows from under a person's pointer. */

/** @typedef {import("../run/placements.js").KnownPlacement} KnownPlacement */

/**
 * @typedef {object} Drawn
 * @property {KnownPlacement} reference
 * @property {import("./compare-panel.js").Shown} shown
 * @property {import("../step/step.js").Step | null} step of the shown placement; null: not known yet
 * @property {boolean} beside whether both are drawn beside each other
 */

/**
 * Whether one comparison would be drawn as the other one is.
 *
 * @param {Drawn | null} one null: nothing is drawn
 * @param {Drawn} other
 */
export function isDrawnAlike(one, other) {
  return (
    one !== null &&
    one.step === other.step &&
    one.beside === other.beside &&
    one.reference.key === other.reference.key &&
    isPlacedAlike(one.reference, other.reference) &&
    isPlacedAlike(one.shown, other.shown)
  );
}

/**
 * @typedef {object} Placed
 * @property {string} words
 * @property {ArrayLike<number>} placement [groups]
 * @property {string} base what it leaves groups on several devices as
 */

/**
 * @param {Placed} one
 * @param {Placed} other
 */
function isPlacedAlike(one, other) {
  const [a, b] = [one.placement, other.placement];
  return (
    one.words === other.words &&
    one.base === other.base &&
    a.length === b.length &&
    (a === b || Array.prototype.every.call(a, (device, group) => device === b[group]))
  );
}
