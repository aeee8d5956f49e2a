/** The page of a comparison: figure and table follow its runs until all of them have ended. */

import { Announcer } from "../ui/announcer.js";
import { ComparisonChart } from "../chart/comparison-chart.js";
import { stateWords } from "../chart/comparison-model.js";
import { confirmDeletion } from "../ui/confirm.js";
import { find } from "../ui/dom.js";
import { watchRows } from "../jobs/job-rows.js";
import { fillNumbers } from "../ui/page-numbers.js";
import { renewPart } from "../ui/page-part.js";
import { failureWords, poll } from "../jobs/poll.js";
import { getJson } from "../ui/server.js";

/** @typedef {import("../chart/comparison-model.js").ComparisonState} ComparisonState */

const EVERY_MILLISECONDS = 2000;

const words = find(document, "[data-part=state]", HTMLElement);
const chart = new ComparisonChart(find(document, "[data-part=chart]", HTMLElement));
const announcer = new Announcer(words);
let shown = "";
let inTable = "";

/** @param {ComparisonState} state */
async function show(state) {
  const text = JSON.stringify(state);
  if (text === shown) {
    return;
  }
  chart.update(state);
  announcer.say(stateWords(state), { urgent: state.ended === state.total });
  const table = JSON.stringify(state.methods.map((row) => ({ ...row, band: null })));
  if (inTable !== "" && inTable !== table) {
    await renewPart("table", "table.html");
  }
  inTable = table;
  if (shown !== "" && !works(state)) {
    await renewPart("cancel");
  }
  shown = text; // at last: what could not be renewed is renewed at the next look
}

/** @param {ComparisonState} state */
function works(state) {
  return state.ended < state.total;
}

fillNumbers(document);
confirmDeletion(document);
watchRows(document, undefined, () => undefined);
const begin = /** @type {ComparisonState} */ (JSON.parse(find(document, "#comparison", HTMLScriptElement).text));
show(begin);
if (works(begin)) {
  poll(
    async () => {
      const state = /** @type {ComparisonState} */ (await getJson("state.json"));
      await show(state);
      return works(state);
    },
    EVERY_MILLISECONDS,
    (failures, error) => {
      const told = failures === 0 ? stateWords(JSON.parse(shown)) : failureWords("This comparison", failures, error);
      if (told) {
        announcer.say(told, { urgent: true });
      }
    },
  );
}
