/** Numbers in pictures, short. */

/**
 * @param {number} value
 * @param {number} [digits] after the point
 * @returns {number}
 */
export function rounded(value, digits = 2) {
  const factor = 10 ** digits;
  return Number.isFinite(value) ? Math.round(value * factor) / factor : 0;
}
