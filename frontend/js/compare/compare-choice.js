/** The choice of the placement that the shown one is compared with: a list, and an episode by its number. */

import { placementOfToken } from "../run/placements.js";
import { tokenOf } from "../run/kept-placements.js";
import { otherWords } from "./references.js";
import { element, find } from "../ui/dom.js";
import { formatTime } from "../ui/format.js";

/** @typedef {import("../run/run-state.js").RunState} RunState */
/** @typedef {import("./references.js").OtherRun} OtherRun */

/**
 * @typedef {{ token: string, words: string }} Option
 * @typedef {{ label: string, options: Option[] }} OptionGroup
 *
 * @typedef {object} Chosen
 * @property {string} token of the placement that is compared with
 * @property {string} words of it; empty: not known yet
 */

const [NUMBER, NOW] = ["number", "now"];

export class CompareChoice {
  #select;
  #number;
  #numberLabel;
  #listed = "";
  /** @type {readonly OptionGroup[]} */
  #groups = [];
  /** @type {Chosen | null} */
  #chosen = null;

  /**
   * @param {HTMLElement} root with `[data-compare=against]` and `[data-compare=number]`
   * @param {(token: string | null) => void} onChoose null: nothing
   * @param {() => void} onFreeze the shown placement as it is now was chosen
   */
  constructor(root, onChoose, onFreeze) {
    this.#select = find(root, "[data-compare=against]", HTMLSelectElement);
    this.#numberLabel = find(root, "[data-compare=number]", HTMLElement);
    this.#number = find(this.#numberLabel, "input", HTMLInputElement);
    this.#select.addEventListener("blur", () => this.#list());
    this.#number.addEventListener("change", () => onChoose(`episode-${this.#number.value}`));
    this.#select.addEventListener("change", () => {
      const { value } = this.#select;
      if (value === NUMBER) {
        this.#numberLabel.hidden = false;
        this.#number.focus();
      } else if (value === NOW) {
        onFreeze();
      } else {
        onChoose(value || null);
      }
    });
  }

  /**
   * @param {readonly OptionGroup[]} groups
   * @param {Chosen | null} chosen
   */
  show(groups, chosen) {
    this.#groups = groups;
    this.#chosen = chosen;
    this.#list();
  }

  #list() {
    const [groups, chosen] = [this.#groups, this.#chosen];
    const listed = JSON.stringify([groups, chosen]);
    if (listed === this.#listed || document.activeElement === this.#select) {
      return; // an open list stays as it is
    }
    this.#listed = listed;
    const made = groups.map(({ label, options }) => {
      const group = element("optgroup", { label });
      group.append(...options.map(({ token, words }) => element("option", { value: token }, words)));
      return group;
    });
    const more = element("optgroup", { label: "Episodes" });
    more.append(element("option", { value: NOW }, "The one shown now"), element("option", { value: NUMBER }, "By number…"));
    this.#select.replaceChildren(element("option", { value: "" }, "nothing"), ...made, more);
    const episode = /^episode-(\d+)$/.exec(chosen?.token ?? "")?.[1];
    this.#numberLabel.hidden = !episode;
    if (episode) {
      this.#number.value = episode;
    }
    this.#select.value = episode ? NUMBER : (chosen?.token ?? "");
    if (chosen && this.#select.selectedIndex < 0) {
      this.#select.prepend(element("option", { value: chosen.token }, chosen.words || "…"));
      this.#select.selectedIndex = 0;
    }
  }
}

/**
 * What a person can choose from; episodes by number come beside it.
 *
 * @param {RunState} state
 * @param {readonly OtherRun[]} others
 * @param {readonly import("../run/kept-placements.js").KeptPlacement[]} kept
 * @param {Record<string, string>} methodLabels method → label
 * @returns {OptionGroup[]} those without an option are left out
 */
export function optionsOf(state, others, kept, methodLabels) {
  const best = placementOfToken("best", state, methodLabels);
  const groups = [
    { label: "This run", options: best ? [{ token: "best", words: `Best, ${formatTime(best.stepTimeUs)}` }] : [] },
    {
      label: "Baselines",
      options: state.baselines
        .filter(({ step_time_us: us }) => us !== null)
        .map(({ method, step_time_us: us }) => ({
          token: `baseline-${method}`,
          words: `${methodLabels[method] ?? method}, ${formatTime(us)}`,
        })),
    },
    {
      label: "Kept placements",
      options: kept.map((row) => ({ token: tokenOf(row), words: `${row.name}, ${formatTime(row.step_time_us)}` })),
    },
    {
      label: "Other runs of this graph",
      options: others.map((run) => ({ token: `run-${run.id}`, words: `${otherWords(run)}, ${formatTime(run.step_time_us)}` })),
    },
  ];
  return groups.filter(({ options }) => options.length > 0);
}
