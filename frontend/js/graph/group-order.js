/** The groups that a table shows, and their order. */

import { shownName } from "../ui/names.js";

/** @typedef {import("../ui/contracts.js").Group} Group */
/** @typedef {"index" | "name" | "device" | "ops" | "time" | "bytes"} SortKey */

/**
 * Groups whose name or op types contain every word of `search`, sorted; ties stay in topological order.
 *
 * @param {readonly Group[]} groups
 * @param {object} wish
 * @param {string} wish.search
 * @param {SortKey} wish.key
 * @param {boolean} wish.descending
 * @param {(group: Group) => number | null} wish.deviceOf
 * @param {(group: Group) => number | null} wish.timeOf
 * @returns {Group[]}
 */
export function orderGroups(groups, { search, key, descending, deviceOf, timeOf }) {
  const found = foundGroups(groups, search);
  const sign = descending ? -1 : 1;
  return found.sort((one, other) => sign * compare(one, other) || one.id - other.id);

  /**
   * @param {Group} one
   * @param {Group} other
   * @returns {number}
   */
  function compare(one, other) {
    switch (key) {
      case "name":
        return shownName(one).localeCompare(shownName(other), "en", { numeric: true });
      case "device":
        return (deviceOf(one) ?? -1) - (deviceOf(other) ?? -1);
      case "ops":
        return one.ops - other.ops;
      case "time":
        return (timeOf(one) ?? -1) - (timeOf(other) ?? -1);
      case "bytes":
        return one.output_bytes - other.output_bytes;
      default:
        return 0;
    }
  }
}

/**
 * @param {readonly Group[]} groups
 * @param {string} search
 * @returns {Group[]} those whose name or op types contain every word of it, in their order
 */
export function foundGroups(groups, search) {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return groups.filter((group) => {
    const text = `${shownName(group)} ${group.name} ${group.types.map(([type]) => type).join(" ")}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}
