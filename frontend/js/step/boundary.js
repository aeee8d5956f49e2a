/** Where the devices of a split group meet: the edges inside of it that go from one to another. Pure. */

import { counted, cutName, formatBytes } from "../ui/format.js";

const LONGEST_NAME = 60;

/**
 * @param {readonly { source: number, target: number, bytes: number }[]} cuts of the whole graph
 * @param {number} group
 * @param {{ groupOf: (op: number) => number, opName: (op: number) => string }} ops
 * @returns {string} a sentence or two
 */
export function boundaryWords(cuts, group, ops) {
  const own = cuts.filter(({ source, target }) => ops.groupOf(source) === group && ops.groupOf(target) === group);
  if (own.length === 0) {
    return "No edge inside it is between two devices: its parts need nothing of each other.";
  }
  const bytes = own.reduce((sum, cut) => sum + cut.bytes, 0);
  const largest = own.reduce((most, cut) => (cut.bytes > most.bytes ? cut : most));
  const [from, to] = [largest.source, largest.target].map((op) => cutName(ops.opName(op), LONGEST_NAME));
  const head = `${counted(own.length, "edge")} inside it ${own.length === 1 ? "is" : "are"} between two devices (${formatBytes(bytes)} a step)`;
  return own.length === 1 ? `${head}: ${from} → ${to}.` : `${head}, the largest ${from} → ${to} (${formatBytes(largest.bytes)}).`;
}
