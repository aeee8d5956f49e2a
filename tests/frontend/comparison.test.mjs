// What the figure of a comparison shows, and the words beside it.
import assert from "node:assert/strict";
import { test } from "node:test";

import { comparisonWords } from "../../frontend/js/forms/compare-form.js";
import { comparisonModel, stateWords } from "../../frontend/js/chart/comparison-model.js";
import { initialState, reduce } from "../../frontend/js/jobs/comparison-state.js";

const NOTHING = { evaluations: [], median_us: [], low_us: [], high_us: [] };

/**
 * @param {number[]} median
 * @param {number} spread
 */
function band(median, spread = 0) {
  return {
    evaluations: median.map((_, index) => 10 ** index),
    median_us: median,
    low_us: median.map((value) => value - spread),
    high_us: median.map((value) => value + spread),
  };
}

/** @param {import("../../frontend/js/jobs/comparison-state.js").Band[]} bands */
function state(...bands) {
  const methods = bands.map((own, index) => ({ method: `m${index}`, label: `M ${index}`, band: own }));
  return { total: 4, ended: 1, running: 1, one_device_us: 120, lower_bound_us: 50, methods };
}

test("nothing is shown before something is found", () => {
  assert.equal(comparisonModel(state(NOTHING, NOTHING)), null);
});

test("a method keeps its colour, whoever else has something to show", () => {
  const model = comparisonModel(state(NOTHING, band([100, 90], 5)));
  assert.deepEqual(model?.series.map(({ index, label, lastUs }) => [index, label, lastUs]), [[1, "M 1", 90]]);
});

test("the range holds all bands and the line of one device, but not what is far slower", () => {
  const model = comparisonModel(state(band([110, 100], 10), band([1000])));
  assert.ok(model);
  const [low, high] = model.rangeUs;
  assert.ok(low < 90 && low > 80);
  assert.ok(high > 120 && high < 140);
  assert.deepEqual(model.evaluations, [1, 10]);
});

test("where all is far above the least, and one device is not known, the best line is still in the range", () => {
  const wide = { evaluations: [1, 10], median_us: [120, 80], low_us: [90, 10], high_us: [300, 200] };
  const model = comparisonModel({ ...state(wide, band([500])), one_device_us: null });
  assert.ok(model);
  const [low, high] = model.rangeUs;
  assert.ok(low >= 0 && low < 10);
  assert.ok(high > 80 && high < 100);
});

test("long lines have their range", () => {
  const evaluations = Array.from({ length: 150_000 }, (_, index) => index + 1);
  const values = evaluations.map((count) => 1 + 1 / count);
  const model = comparisonModel(state({ evaluations, median_us: values, low_us: values, high_us: values }));
  assert.deepEqual(model?.evaluations, [1, 150_000]);
});

test("one placement alone still has an axis", () => {
  assert.deepEqual(comparisonModel(state(band([100])))?.evaluations, [1, 2]);
});

test("how far it is, in words", () => {
  assert.equal(stateWords({ ...state(), total: 4, ended: 1, running: 2 }), "1 of 4 runs ended, 2 running");
  assert.equal(stateWords({ ...state(), total: 4, ended: 1, running: 2, left_seconds: 80 }), "1 of 4 runs ended, 2 running, ≈ 1 min left");
  assert.equal(stateWords({ ...state(), total: 4, ended: 1, running: 0 }), "1 of 4 runs ended; the rest are waiting for a free worker");
  assert.equal(stateWords({ ...state(), total: 4, ended: 4, running: 0 }), "All 4 runs have ended");
  assert.equal(stateWords({ ...state(), total: 1, ended: 1, running: 0 }), "The run has ended");
  assert.equal(stateWords({ ...state(), total: 0, ended: 0, running: 0 }), "All runs of this comparison have been deleted");
});

test("what will be started, in words", () => {
  const none = { methods: 0, deterministic: 0, seeds: 3, evaluations: 10 };
  assert.equal(comparisonWords(none), "Choose at least one method.");
  assert.equal(
    comparisonWords({ methods: 4, deterministic: 0, seeds: 3, evaluations: 2000 }),
    "4 methods × 3 seeds: 12 runs of at most 2,000 evaluations each.",
  );
  assert.equal(
    comparisonWords({ methods: 4, deterministic: 1, seeds: 3, evaluations: 2000 }),
    "4 methods × 3 seeds (1 is deterministic and runs once): 10 runs of at most 2,000 evaluations each.",
  );
  assert.match(comparisonWords({ methods: 2, deterministic: 2, seeds: 1, evaluations: 5 }), /^2 methods × 1 seed: 2 runs of/);
});

/**
 * @param {number} seq
 * @param {number} ended
 * @returns {import("../../frontend/js/jobs/comparison-state.js").ComparisonEvent}
 */
function event(seq, ended) {
  return { type: "comparison", version: 1, seq, ...state(band([100, 90])), ended };
}

test("the newest state counts, whatever its number: a run that is deleted takes its changes with it", () => {
  const begun = initialState(state(NOTHING));
  const later = reduce(begun, { type: "events", events: [event(7, 2)] });
  assert.deepEqual([later.lastSeq, later.shown.ended], [7, 2]);
  const fewer = reduce(later, { type: "events", events: [event(4, 1)] });
  assert.deepEqual([fewer.lastSeq, fewer.shown.ended], [4, 1]);
  assert.equal(reduce(fewer, { type: "events", events: [event(4, 1)] }), fewer);
  assert.equal(reduce(fewer, { type: "events", events: [] }), fewer);
});

test("the state of a newer server is not shown but reported", () => {
  const begun = initialState(state(NOTHING));
  const newer = reduce(begun, { type: "events", events: [{ ...event(2, 2), version: 2 }] });
  assert.deepEqual([newer.lastSeq, newer.unreadable, newer.shown], [2, true, begun.shown]);
  assert.equal(reduce(newer, { type: "status", status: "done", error: "" }).status, "done");
});
