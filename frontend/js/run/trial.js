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
 * @param {ReadonlySet<number>} [locked] groups that stay where they are
 * @returns {Trial} the same one where nothing changes
 */
export function withMove(trial, groups, device, locked = new Set()) {
  const now = placementOf(trial);
  const moved = groups.filter((group) => now[group] !== device && !locked.has(group));
  return moved.length === 0 ? trial : Object.freeze({ ...trial, moves: [...trial.moves, { groups: moved, device }], undone: [] });
}

/**
 * Lock groups, or unlock them if all of them are locked.
 *
 * @param {ReadonlySet<number>} locked
 * @param {readonly number[]} groups
 * @returns {ReadonlySet<number>}
 */
export function withLocks(locked, groups) {
  const others = [...locked].filter((group) => !groups.includes(group));
  const unlocks = groups.every((group) => locked.has(group));
  return new Set(unlocks ? others : [...others, ...groups]);
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
 * @returns {Int16Array} [groups] −1 for a group whose ops are on several devices
 */
export function placementOf({ base, moves }) {
  const placement = Int16Array.from(base);
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
