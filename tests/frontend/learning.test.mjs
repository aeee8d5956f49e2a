// What the learning curves show.
import assert from "node:assert/strict";
import { test } from "node:test";
import { valueText } from "../../frontend/js/chart/learning-chart.js";
import { learningPanels, updateAt } from "../../frontend/js/chart/learning-model.js";
import { initialState, reduce } from "../../frontend/js/run/run-state.js";
import { episode, started, update } from "./events.mjs";

/** @type {[number, number]} */
const ALL = [1, 1e6];

test("updates are kept beside the episodes, in order", () => {
  const events = [started(1), episode(2), update(3, { episode: 1 }), episode(4), update(5, { episode: 2, entropy: null })];
  const state = reduce(initialState(), { type: "events", events });
  assert.deepEqual(state.updates.whole().map(({ episode: number }) => number), [1, 2]);
  assert.equal(state.episodes.length, 2);
  assert.equal(state.lastSeq, 5);
});

test("a panel for what the method has, and no other", () => {
  const lines = (/** @type {any} */ fields) => learningPanels([update(1, fields)], ALL).map((panel) => panel.lines.map(({ key }) => key));
  assert.deepEqual(lines({ memory_penalty: 0.2 }), [["mean_return", "return_baseline"], ["entropy"], ["memory_penalty"], ["gradient_norm"]]);
  assert.deepEqual(lines({ return_baseline: null, memory_penalty: null, gradient_norm: null }), [["mean_return"], ["entropy"]]);
  assert.deepEqual(lines({ memory_penalty: 0 }), [["mean_return", "return_baseline"], ["entropy"], ["gradient_norm"]], "zeros need no curve");
  assert.deepEqual(learningPanels([], ALL), []);
});

test("a zoom shows its updates and one on each side, in their own range", () => {
  const updates = Array.from({ length: 100 }, (_, index) => update(index + 1, { episode: 16 * (index + 1), mean_return: index - 100 }));
  const [returns] = learningPanels(updates, [160, 320]);
  assert.deepEqual(returns.lines[0].points.map(([number]) => number).slice(0, 2), [144, 160]);
  assert.deepEqual(returns.lines[0].points.at(-1), [320, -81]);
  assert.ok(returns.range[0] < -92 && returns.range[0] > -100);
  const entropy = learningPanels(updates, ALL).find(({ title }) => title.startsWith("Entropy"));
  assert.equal(entropy?.range[0], 0);
});

test("many updates are thinned and keep the last", () => {
  const updates = Array.from({ length: 10_000 }, (_, index) => update(index + 1, { episode: index + 1 }));
  const { points } = learningPanels(updates, ALL)[0].lines[0];
  assert.ok(points.length <= 1501);
  assert.equal(points.at(-1)?.[0], 10_000);
});

test("an episode counts in the first update from it on", () => {
  const updates = [16, 32, 48].map((number, index) => update(index + 1, { episode: number }));
  assert.deepEqual([1, 16, 17, 48, 60].map((number) => updateAt(updates, number)?.episode), [16, 16, 32, 48, 48]);
  assert.equal(updateAt([], 3), null);
});

test("numbers of any size are short", () => {
  assert.deepEqual([0, 0.00042, 0.0623, -1.2345, 1234.5, null].map(valueText), ["0", "4.2e−4", "0.0623", "−1.23", "1,234.5", "–"]);
});
