/** What is known of each group of a graph where it is now: its time, its parts on several devices, its edges. */

import { SPLIT } from "./colouring.js";
import { timeOfKind } from "./placement.js";
import { splitPlaces, timeOfParts } from "./split-places.js";

/** @typedef {import("../ui/contracts.js").Group} Group */
/** @typedef {import("./colouring.js").Part} Part */

export class GroupFacts {
  #graph;
  #devices;
  #looks;
  #store;
  #boundaryOf;
  #edgeCounts;
  /** @type {string | null} */
  #kind = null;

  /**
   * @param {import("../ui/contracts.js").GroupGraph} graph
   * @param {readonly import("../ui/contracts.js").Device[]} devices empty: the graph alone
   * @param {readonly import("./devices.js").DeviceLook[]} looks
   * @param {import("./graph-state.js").GraphStore} store
   * @param {(group: number) => string} boundaryOf the boundary inside a group on several devices, in words; empty: not known yet
   */
  constructor(graph, devices, looks, store, boundaryOf) {
    this.#graph = graph;
    this.#devices = devices;
    this.#looks = looks;
    this.#store = store;
    this.#boundaryOf = boundaryOf;
    this.#edgeCounts = countEdges(graph);
  }

  /** @param {string} kind of device whose times are meant without devices */
  useKind(kind) {
    this.#kind = kind;
  }

  /** @returns {ArrayLike<number> | null} [groups] */
  get placement() {
    return this.#store.state.placed?.placement ?? null;
  }

  /** @returns {(number | null)[] | null} [groups] null: there is neither a placement nor a kind */
  times() {
    const known = this.placement !== null || this.#kind !== null;
    return known ? this.#graph.groups.map((group) => this.timeOf(group)) : null;
  }

  /**
   * @param {number} group
   * @returns {readonly Part[] | null} null: it is not on several devices, or not known yet to be
   */
  partsOf(group) {
    return (this.placement?.[group] === SPLIT && this.#store.state.facts?.parts.get(group)) || null;
  }

  /**
   * Its time where it is.
   *
   * @param {Group} group
   * @returns {number | null}
   */
  timeOf(group) {
    const parts = this.partsOf(group.id);
    return parts ? timeOfParts(parts) : this.timeOn(group, this.placement?.[group.id] ?? null);
  }

  /**
   * @param {Group} group
   * @param {number | null} device
   * @returns {number | null}
   */
  timeOn(group, device) {
    const kind = (device === null ? null : this.#devices[device]?.kind) ?? this.#kind;
    return kind === null ? null : timeOfKind(group, kind);
  }

  /**
   * @param {number} index
   * @param {number | null} device by default that of the shown placement
   * @param {readonly Part[] | null} parts of one on several devices, by default there
   * @returns {import("./group-details.js").Detail}
   */
  detail(index, device = this.placement?.[index] ?? null, parts = this.partsOf(index)) {
    const group = this.#graph.groups[index];
    return {
      group,
      look: device === null ? null : (this.#looks[device] ?? null),
      timeUs: device === SPLIT && parts ? timeOfParts(parts) : this.timeOn(group, device),
      split: device === SPLIT ? splitPlaces(parts, this.#looks, this.#boundaryOf(index)) : null,
      edges: { inputs: this.#edgeCounts.inputs[index], outputs: this.#edgeCounts.outputs[index] },
    };
  }
}

/** @param {import("../ui/contracts.js").GroupGraph} graph */
function countEdges(graph) {
  const inputs = new Array(graph.groups.length).fill(0);
  const outputs = new Array(graph.groups.length).fill(0);
  for (const { source, target } of graph.edges) {
    outputs[source] += 1;
    inputs[target] += 1;
  }
  return { inputs, outputs };
}
