/** Asks what each move is worth: the step if that one group alone went back. In parts, the longest groups first. */

/** @typedef {import("./difference.js").Move} Move */
/** @typedef {import("./moves-table.js").Back} Back */

/**
 * @typedef {object} Gains as `gains.json` has them
 * @property {(number | null)[][]} step_time_us [groups, devices]
 * @property {number[][]} missing_bytes [groups, devices]
 *
 * @typedef {(placement: ArrayLike<number>, groups: number[], to: number[]) => Promise<Gains>} Ask
 */

const AT_ONCE = 128;
/** Beyond so many moves, a person has to ask for the rest. */
export const MOST_UNASKED = 512;

/**
 * @param {readonly Move[]} moves
 * @param {(group: number) => number} timeOf
 * @returns {Move[]} those that can go back, the longest groups first
 */
export function inOrder(moves, timeOf) {
  return moves.filter(({ from }) => from >= 0).sort((one, other) => timeOf(other.group) - timeOf(one.group) || one.group - other.group);
}

/**
 * @param {Ask} ask
 * @param {ArrayLike<number>} placement [groups] the shown one
 * @param {readonly Move[]} moves in the order in which they are asked for
 * @param {(backs: Map<number, Back>) => boolean} onPart called after each part with all that is known; false: no more is wanted
 */
export async function askBacks(ask, placement, moves, onPart) {
  /** @type {Map<number, Back>} */
  const backs = new Map();
  for (let from = 0; from < moves.length; from += AT_ONCE) {
    const part = moves.slice(from, from + AT_ONCE);
    const { step_time_us: times, missing_bytes: missing } = await ask(
      placement,
      part.map(({ group }) => group),
      part.map((move) => move.from),
    );
    part.forEach((move, index) => backs.set(move.group, { stepTimeUs: times[index][move.from], missingBytes: missing[index][move.from] }));
    if (!onPart(backs)) {
      return;
    }
  }
}
