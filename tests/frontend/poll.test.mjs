// Asking again and again: until there is no more to ask, and not for what is gone.
import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";
import { failureWords, poll } from "../../frontend/js/jobs/poll.js";
import { ServerError } from "../../frontend/js/ui/server.js";

const GONE = new ServerError("This does not exist any more.", 404);
const AWAY = new ServerError("The server cannot be reached.", 0);

beforeEach(() => {
  mock.timers.enable({ apis: ["setTimeout"] });
  Object.assign(globalThis, { document: { hidden: false } });
});

afterEach(() => {
  mock.timers.reset();
  Reflect.deleteProperty(globalThis, "document");
});

/**
 * Poll every 10 ms, getting these answers.
 *
 * @param {(boolean | Error)[]} answers
 * @param {number[]} waits milliseconds that pass after each
 * @returns {Promise<[number, string[]]>} number of requests, and the words shown
 */
async function polled(answers, waits) {
  let asked = 0;
  /** @type {string[]} */
  const shown = [];
  const ask = async () => {
    const answer = answers[Math.min(asked++, answers.length - 1)];
    if (answer instanceof Error) {
      throw answer;
    }
    return answer;
  };
  poll(ask, 10, (failures, error) => shown.push(failures === 0 ? "again" : failureWords("graph", failures, error)));
  for (const wait of waits) {
    await new Promise((resolve) => setImmediate(resolve));
    mock.timers.tick(wait);
  }
  await new Promise((resolve) => setImmediate(resolve));
  return [asked, shown];
}

test("it asks until there is no more to ask", async () => {
  assert.deepEqual(await polled([true, true, false], [10, 10, 10, 10]), [3, []]);
});

test("a deletion is shown at once and ends the polling", async () => {
  assert.deepEqual(await polled([true, GONE], [10, 100, 1000, 10_000]), [2, ["This graph has been deleted."]]);
});

test("an absent server is polled less and less often, and shown from the second failure on", async () => {
  const away = "The server cannot be reached, trying again…";
  const [asked, shown] = await polled([AWAY, AWAY, AWAY, false], [20, 39, 1, 80]);
  assert.deepEqual([asked, shown], [4, ["", away, away, "again"]]);
});
