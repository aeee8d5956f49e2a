/** The one scale of the memory curves of all devices. Pure. */

/** A limit that is so many times the largest peak would leave the curves too low to read. */
const FARTHEST_LIMIT = 4;

/**
 * @param {import("./step.js").Step} step
 * @returns {{ most: number, shown: boolean[] }} the bytes at the top of each row; [devices] whether its limit is below that
 */
export function memoryScale({ texts }) {
  const peak = texts.peaks.reduce((most, { bytes }) => Math.max(most, bytes), 1);
  const shown = texts.memory_bytes.map((limit) => limit <= peak * FARTHEST_LIMIT);
  const limits = texts.memory_bytes.filter((_, device) => shown[device]);
  return { most: limits.reduce((most, limit) => Math.max(most, limit), peak), shown };
}
