/** The one scale of the memory curves of all devices. Pure. */

/** A limit that is so many times the largest peak would leave the curves too low to read. */
const FARTHEST_LIMIT = 4;

/**
 * @param {readonly number[]} peaks [devices] in bytes
 * @param {readonly number[]} limits [devices] in bytes
 * @param {number} [farthest] times the largest peak that a limit may be to be shown
 * @returns {{ most: number, shown: boolean[] }} the bytes at the top of each row; [devices] whether its limit is below that
 */
export function memoryScale(peaks, limits, farthest = FARTHEST_LIMIT) {
  const peak = peaks.reduce((most, bytes) => Math.max(most, bytes), 1);
  const shown = limits.map((limit) => limit <= peak * farthest);
  const within = limits.filter((_, device) => shown[device]);
  return { most: within.reduce((most, limit) => Math.max(most, limit), peak), shown };
}
