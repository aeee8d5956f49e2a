/** Finds what the colour by gains needs: what each group's best move would save, once the shown placement is explained. */

import { COLOURINGS } from "../graph/colouring.js";
import { bestGains, gainsOfAll } from "./gains.js";

/**
 * @param {import("./step-state.js").StepStore} store
 * @param {import("../run/shown-placement.js").ShownPlacement} shown
 */
export function findGainsForColour(store, shown) {
  store.subscribe(["colour", "step"], async ({ colour, step, placed, gainShare }) => {
    if (!COLOURINGS[colour]?.needs.includes("gainShare") || gainShare || !step || !placed) {
      return;
    }
    store.set({ colourProblem: "" });
    try {
      const gains = await gainsOfAll(shown.fields());
      if (store.state.step === step) {
        store.set({ gainShare: bestGains(gains, placed.placement, step.stepTimeUs) });
      }
    } catch (error) {
      store.set({ colourProblem: error instanceof Error ? error.message : String(error) });
    }
  });
}
