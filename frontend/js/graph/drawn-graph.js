/** Fetches a grouped graph with its layout. */

import { getJson } from "../ui/server.js";

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
  return "strips" in stored ? stored : /** @type {GroupGraph} */ (await getJson(String(stage.dataset.drawing)));
}
