/** The way to an opened scope: a group's number, then scopes, each within the one before. Pure. */

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
 * @returns {{ words: string, path: readonly string[] }[]} each step of the way, beginning with the whole graph
 */
export function crumbsOf(path, groups) {
  return [
    { words: "Graph", path: [] },
    ...path.map((step, index) => ({
      words: index === 0 ? groups[Number(step)].name : path.length > 1 && index > 1 ? step.slice(path[index - 1].length + 1) : step,
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
