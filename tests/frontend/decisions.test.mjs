// The decisions inside one episode, apart from the page.
import assert from "node:assert/strict";
import { test } from "node:test";
import { decidedAt, decisionAt, decisionSentence, honestWords, leastSure, probabilityText, startSeqOf } from "../../frontend/js/decisions/decisions.js";
import { initialState, reduce } from "../../frontend/js/run/run-state.js";
import { baseline, episode, started } from "./events.mjs";

const LABELS = ["GPU 0", "GPU 1", "CPU 0"];
const DECISIONS = Object.freeze({
  episode: 7,
  is_exact: true,
  explore: 0,
  start: [-1, -1, -1],
  order: [2, 0, 1],
  chosen: [0, 1, 1],
  probabilities: [
    [0.71, 0.26, 0.03],
    [0.999, 0.001, 0],
    [0, 1, 0],
  ],
});

test("a decision has the devices by their probability, those without a chance left out", () => {
  assert.deepEqual(decisionAt(DECISIONS, 0), {
    group: 2,
    device: 0,
    probability: 0.71,
    options: [{ device: 0, probability: 0.71 }, { device: 1, probability: 0.26 }, { device: 2, probability: 0.03 }],
  });
  assert.deepEqual(decisionAt(DECISIONS, 1).options.map(({ device }) => device), [0, 1], "the chosen one is always there");
  assert.deepEqual(decisionAt(DECISIONS, 2).options, [{ device: 1, probability: 1 }]);
});

test("the sentence of a decision", () => {
  assert.equal(
    decisionSentence(DECISIONS, 0, "mixed_35/concat", LABELS),
    "Decision 1 of 3, mixed_35/concat: GPU 0: 0.71, GPU 1: 0.26, CPU 0: 0.03; it took GPU 0.",
  );
  assert.deepEqual([0, 0.001, 0.3333, 0.999, 1].map(probabilityText), ["0.00", "< 0.01", "0.33", "> 0.99", "1.00"]);
});

test("the least sure decisions come first, and groups are decided one after the other", () => {
  assert.deepEqual(leastSure(DECISIONS, 2), [1, 0]);
  assert.deepEqual([...decidedAt(DECISIONS, 0)], [0, 0, 1]);
  assert.deepEqual([...decidedAt(DECISIONS, 2)], [1, 1, 1]);
});

test("it says whose probabilities they are", () => {
  assert.match(honestWords(DECISIONS), /as they were made/);
  assert.match(honestWords({ ...DECISIONS, is_exact: false, explore: 0.0078 }), /at the end of the run.*0\.78 % of a uniform choice/);
});

test("an episode starts from the best one before its batch", () => {
  const times = [900, 950, 800, 990, 700, 985, 980, 970];
  const events = times.map((time, index) => episode(index + 3, { episode: index + 1, step_time_us: time }));
  const first = { ...started(1), settings: { batch_episodes: 4 } };
  const state = reduce(initialState(), { type: "events", events: [first, baseline(2, "single_device", 1000), ...events] });
  assert.deepEqual([0, 3, 4, 7].map((index) => startSeqOf(state, index)), [null, null, 5, 5], "of its own batch none");
  const slow = reduce(initialState(), { type: "events", events: [first, baseline(2, "single_device", 750), ...events] });
  assert.equal(startSeqOf(slow, 4), null, "a single device is faster");
});
