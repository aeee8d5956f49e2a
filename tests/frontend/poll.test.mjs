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
 * @returns {Promise<[number, string[]]>} how often it asked, and what is told
 */
async function polled(answers, waits) {
  let asked = 0;
  /** @type {string[]} */
  const told = [];
  const ask = async () => {
    const answer = answers[Math.min(asked++, answers.length - 1)];
    if (answer instanceof Error) {
      throw answer;
    }
    return answer;
  };
  poll(ask, 10, (failures, error) => told.push(failures === 0 ? "again" : failureWords("graph", failures, error)));
  for (const wait of waits) {
    await new Promise((resolve) => setImmediate(resolve));
    mock.timers.tick(wait);
  }
  await new Promise((resolve) => setImmediate(resolve));
  return [asked, told];
}

test("it asks until there is no more to ask", async () => {
  assert.deepEqual(await polled([true, true, false], [10, 10, 10, 10]), [3, []]);
});

test("what has been deleted is told at once and asked for no more", async () => {
  assert.deepEqual(await polled([true, GONE], [10, 100, 1000, 10_000]), [2, ["This graph has been deleted."]]);
});

test("a server that is away is asked again, less and less often, and told of from the second time on", async () => {
  const away = "The server cannot be reached, trying again…";
  const [asked, told] = await polled([AWAY, AWAY, AWAY, false], [20, 39, 1, 80]);
  assert.deepEqual([asked, told], [4, ["", away, away, "again"]]);
});
