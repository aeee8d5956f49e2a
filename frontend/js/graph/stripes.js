/** The stripes of a look, cut out of its shape: for pictures that have no gradients. Pure. */

import { shapeCorners } from "./devices.js";

/** @typedef {readonly [number, number]} Corner in a box of 2 × 2 around 0 */

/**
 * @param {readonly string[]} stripes colours, from the left
 * @param {import("./devices.js").Shape} shape without an angle inwards
 * @returns {{ colour: string, corners: readonly Corner[] }[]} neighbours of one colour are one
 */
export function stripesOf(stripes, shape) {
  const corners = shapeCorners(shape) ?? [];
  return runsOf(stripes).map(({ colour, from, until }) => {
    const [left, right] = [from, until].map((edge) => (2 * edge) / stripes.length - 1);
    return { colour, corners: cut(cut(corners, left, 1), right, -1) };
  });
}

/**
 * @param {readonly string[]} stripes colours, from the left
 * @returns {{ colour: string, from: number, until: number }[]} neighbours of one colour are one
 */
export function runsOf(stripes) {
  const begins = [...stripes.keys()].filter((index) => stripes[index] !== stripes[index - 1]);
  return begins.map((from, index) => ({ colour: stripes[from], from, until: begins[index + 1] ?? stripes.length }));
}

/**
 * @param {readonly Corner[]} corners
 * @param {number} at
 * @param {1 | -1} side that stays: right of `at`, or left of it
 * @returns {Corner[]}
 */
function cut(corners, at, side) {
  return corners.flatMap(([x, y], index) => {
    const [nextX, nextY] = corners[(index + 1) % corners.length];
    /** @type {Corner[]} */
    const kept = side * (x - at) >= 0 ? [[x, y]] : [];
    const crosses = (x - at) * (nextX - at) < 0;
    return crosses ? [...kept, [at, y + ((at - x) / (nextX - x)) * (nextY - y)]] : kept;
  });
}
