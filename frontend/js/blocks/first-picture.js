/** What the picture of a graph shows until a person says otherwise. Pure. */

import { shownName } from "../ui/names.js";

/** Groups that lie in scopes, of all: from here on a graph reads by its blocks. */
const LEAST_SHARE = 0.5;

/**
 * @param {readonly { name: string, short_name?: string }[]} groups
 * @returns {"blocks" | "groups"} blocks where the names are those of a model: most are in scopes, and in more than one
 */
export function firstPicture(groups) {
  const scopes = groups.map((group) => shownName(group).split("/")).filter(({ length }) => length > 1).map(([scope]) => scope);
  return scopes.length >= LEAST_SHARE * groups.length && new Set(scopes).size > 1 ? "blocks" : "groups";
}
