/** Fetches a grouped graph with its layout. */

import { getJson } from "../ui/server.js";
import { MOST_GROUPS_DRAWN } from "./graph-view.js";

/** @typedef {import("../ui/contracts.js").GroupGraph} GroupGraph */

/**
 * A graph that an earlier version has read was laid out otherwise: the server lays it out again.
 *
 * @param {string} address of the graph as it was stored
 * @param {HTMLElement} stage `data-drawing`: the address of the graph in today's layout
 * @returns {Promise<GroupGraph>}
 */
export async function loadGraph(address, stage) {
  const stored = /** @type {GroupGraph} */ (await getJson(address));
  const needsNoLayout = stored.groups.length > MOST_GROUPS_DRAWN; // the picture of all groups has its own
  return "strips" in stored || needsNoLayout ? stored : /** @type {GroupGraph} */ (await getJson(String(stage.dataset.drawing)));
}
