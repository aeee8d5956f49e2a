/** What the groups are coloured by: the choice with its legend, and the facts that the chosen colour needs. */

import { getJson } from "../ui/server.js";
import { ColourChooser } from "./colour-chooser.js";
import { COLOURINGS, colouring } from "./colouring.js";
import { costFacts } from "./cost-facts.js";

/** @typedef {import("../ui/contracts.js").OpCosts} OpCosts */

export class GraphColours {
  #store;
  #keys;
  #groups;
  #looks;
  #known;
  #address;
  #chooser;
  #isAsked = false;
  /** @type {OpCosts | null} of the ops */
  #opCosts = null;
  /** @type {import("./colouring.js").Facts} */
  #facts;
  #onFacts;

  /**
   * @param {{ choice: HTMLElement, legend: HTMLElement }} parts `choice` with `data-costs`, the address of `costs.json`
   * @param {readonly string[]} keys of `COLOURINGS` that this page knows the facts of; the first one unless another is chosen
   * @param {readonly import("../ui/contracts.js").Group[]} groups
   * @param {readonly import("./devices.js").DeviceLook[]} looks
   * @param {import("./group-facts.js").GroupFacts} known
   * @param {import("./graph-state.js").GraphStore} store
   * @param {() => void} onFacts called when facts of the ops have come, which the store does not have
   */
  constructor({ choice, legend }, keys, groups, looks, known, store, onFacts) {
    this.#store = store;
    this.#keys = keys;
    this.#groups = groups;
    this.#looks = looks;
    this.#known = known;
    this.#onFacts = onFacts;
    this.#address = String(choice.dataset.costs);
    this.#chooser = new ColourChooser(choice, legend, keys, (colour) => store.set({ colour }));
    this.#facts = this.#newFacts();
    store.subscribe(["colour", "facts"], () => this.#ask());
    store.subscribe(["colourProblem"], ({ colourProblem }) => colourProblem && this.#chooser.fail(colourProblem));
  }

  /** @returns {string} of `COLOURINGS` */
  get key() {
    const { colour } = this.#store.state;
    return this.#keys.includes(colour) ? colour : this.#keys[0];
  }

  get facts() {
    return this.#facts;
  }

  get opCosts() {
    return this.#opCosts;
  }

  /** Take what the store knows now. */
  renew() {
    this.#facts = this.#newFacts();
  }

  /** @returns {import("./colouring.js").Colouring} of the groups */
  get colouring() {
    return colouring(this.key, this.#facts, this.#groups.length);
  }

  /** @param {import("./colouring.js").Colouring} painted what the legend explains */
  explain(painted) {
    this.#chooser.show(this.key, painted);
  }

  /** @returns {import("./colouring.js").Facts} */
  #newFacts() {
    const { facts, gainShare } = this.#store.state;
    const costs = this.#opCosts && (this.#facts.costs ?? costFacts(this.#opCosts, this.#opCosts.groups, this.#groups.length));
    const bytes = this.#facts?.bytes ?? this.#groups.map((group) => group.output_bytes);
    return { placement: this.#known.placement, looks: this.#looks, timeUs: this.#known.times(), bytes, step: facts, gainShare, costs };
  }

  async #ask() {
    if (this.#isAsked || !COLOURINGS[this.key].needs.includes("costs")) {
      return;
    }
    this.#isAsked = true;
    try {
      this.#opCosts = /** @type {OpCosts} */ (await getJson(this.#address));
      this.#onFacts();
    } catch (error) {
      this.#isAsked = false;
      this.#chooser.fail(error instanceof Error ? error.message : String(error));
    }
  }
}
