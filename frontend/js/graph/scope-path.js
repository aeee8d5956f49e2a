/** The way to an opened scope: a group's number, then scopes, each within the one before. Pure. */

import { shownName } from "../ui/names.js";

/**
 * @param {readonly string[]} path such as `["12", "block/branch"]`; from an address, so untrusted
 * @param {number} groups how many there are
 * @returns {readonly string[]} the same, or empty where it leads nowhere
 */
export function checkedPath(path, groups) {
  const [group, ...scopes] = path;
  const isGroup = /^\d{1,7}$/.test(group ?? "") && Number(group) < groups;
  const nested = scopes.every((scope, index) => scope !== "" && (index === 0 || scope.startsWith(`${scopes[index - 1]}/`)));
  return isGroup && nested ? path : [];
}

/**
 * @param {readonly string[]} path
 * @param {readonly import("../ui/contracts.js").Group[]} groups
 * @param {Readonly<Record<string, string>>} [shortScopes] scope → its name as people are shown it; empty until it is known
 * @returns {{ words: string, title: string, path: readonly string[] }[]} each step of the way, beginning with the whole graph
 */
export function crumbsOf(path, groups, shortScopes = {}) {
  const shown = path.map((step, index) => (index === 0 ? shownName(groups[Number(step)]) : Object.hasOwn(shortScopes, step) ? shortScopes[step] : step));
  return [
    { words: "Graph", title: "", path: [] },
    ...path.map((step, index) => ({
      words: index > 1 && shown[index].startsWith(`${shown[index - 1]}/`) ? shown[index].slice(shown[index - 1].length + 1) : shown[index],
      title: index === 0 ? groups[Number(step)].name : step,
      path: path.slice(0, index + 1),
    })),
  ];
}

/**
 * @param {string} address of `scope.json`
 * @param {readonly string[]} path not empty
 * @returns {string}
 */
export function scopeAddress(address, path) {
  const fields = new URLSearchParams({ group: path[0], scope: path.length > 1 ? path[path.length - 1] : "" });
  return `${address}?${fields}`;
}
