/**
 * A placement by hand: changes to the placement of an event, with undo and redo. A pure value.
 *
 * A trial without changes is the event's own placement.
 */

/**
 * @typedef {object} Move of groups to one device
 * @property {readonly number[]} groups
 * @property {number} device
 *
 * @typedef {object} Trial
 * @property {ArrayLike<number>} base [groups] the event's placement
 * @property {readonly Move[]} moves in their order
 * @property {readonly Move[]} undone the last one undone comes first
 */

/**
 * @param {ArrayLike<number>} base [groups]
 * @returns {Trial}
 */
export function newTrial(base) {
  return Object.freeze({ base, moves: Object.freeze([]), undone: Object.freeze([]) });
}

/**
 * @param {Trial} trial
 * @param {readonly number[]} groups
 * @param {number} device
 * @returns {Trial} the same one where nothing changes
 */
export function withMove(trial, groups, device) {
  const now = placementOf(trial);
  if (groups.every((group) => now[group] === device)) {
    return trial;
  }
  return Object.freeze({ ...trial, moves: [...trial.moves, { groups, device }], undone: [] });
}

/** @param {Trial} trial */
export function undo(trial) {
  const last = trial.moves.at(-1);
  return last ? Object.freeze({ ...trial, moves: trial.moves.slice(0, -1), undone: [last, ...trial.undone] }) : trial;
}

/** @param {Trial} trial */
export function redo(trial) {
  const [next, ...rest] = trial.undone;
  return next ? Object.freeze({ ...trial, moves: [...trial.moves, next], undone: rest }) : trial;
}

/**
 * @param {Trial} trial
 * @returns {Uint8Array} [groups]
 */
export function placementOf({ base, moves }) {
  const placement = Uint8Array.from(base); // a cluster has at most 64 devices
  for (const { groups, device } of moves) {
    for (const group of groups) {
      placement[group] = device;
    }
  }
  return placement;
}

/**
 * @param {Trial} trial
 * @returns {number[]} the groups whose device differs from the event's
 */
export function movedGroups(trial) {
  const now = placementOf(trial);
  return [...now.keys()].filter((group) => now[group] !== trial.base[group]);
}
