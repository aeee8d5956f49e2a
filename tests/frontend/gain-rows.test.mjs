import assert from "node:assert/strict";
import { test } from "node:test";

import { bestMoveWords, gainRows, hasEffect, levelOf, orderedBy } from "../../frontend/js/step/gain-rows.js";

const ANSWER = {
  groups: [0, 2, 5],
  step_time_us: [[100, 99, null], [90, 100, 101], [100, 80, 100]],
  missing_bytes: [[0, 0, -1], [0, 0, 0], [0, 7, 0]],
};
const PLACEMENT = [0, 0, 1, 0, 0, 0];

test("the best move comes first; a move without room or leave is none", () => {
  const rows = gainRows(ANSWER, PLACEMENT, 100);
  assert.deepEqual(rows.map(({ group }) => group), [2, 0, 5]);
  assert.deepEqual(rows[0].cells.map(({ kind }) => kind), ["move", "here", "move"]);
  assert.deepEqual(rows[1].cells.map(({ kind }) => kind), ["here", "move", "forbidden"]);
  assert.deepEqual(rows[2].cells.map(({ kind }) => kind), ["here", "full", "move"]);
  assert.deepEqual([rows[0].best, rows[2].best], [0, 2]);
  assert.ok(Math.abs(rows[0].change + 0.1) < 1e-12);
});

test("a group that may go nowhere else has no best move and comes last", () => {
  const rows = gainRows({ groups: [1, 0], step_time_us: [[100, null], [100, 120]], missing_bytes: [[0, -1], [0, 0]] }, [0, 0], 100);
  assert.deepEqual(rows.map(({ group, best }) => [group, best]), [[0, 1], [1, -1]]);
  assert.equal(rows[1].change, Infinity);
});

test("a column orders the rows by the moves to its device", () => {
  const rows = gainRows(ANSWER, PLACEMENT, 100);
  assert.deepEqual(orderedBy(rows, 2).map(({ group }) => group), [5, 2, 0]);
  assert.deepEqual(orderedBy(rows, -1).map(({ group }) => group), [2, 0, 5]);
});

test("colours have a sign and three strengths, and none where there is no move", () => {
  const level = (/** @type {number} */ change) => levelOf({ kind: "move", change });
  assert.deepEqual([-0.1, -0.01, -0.001, 0.0009, 0.001, 0.01, 0.1].map(level), [-3, -2, -1, 0, 1, 2, 3]);
  assert.equal(levelOf({ kind: "full", change: -0.5 }), 0);
});

test("a move that changes next to nothing is no best move, and its row is folded", () => {
  const gains = (/** @type {number[][]} */ times) => ({ groups: times.map((_, group) => group), step_time_us: times, missing_bytes: times.map(() => [0, 0]) });
  const words = (/** @type {number[][]} */ times) => bestMoveWords(gainRows(gains(times), [0, 0], 100)[0], 100, "stem", "GPU 1");
  assert.equal(words([[100, 99.978], [100, 100]]), "No single move helps by more than 0.1 %.");
  assert.equal(words([[100, 101]]), "No single move makes the step faster.");
  assert.equal(words([[100, 97]]), "Best single move: stem to GPU 1, 3 % faster: 100.0 → 97.00 µs.");
  assert.equal(bestMoveWords(undefined, 100, "", ""), "No single move makes the step faster.");
  const rows = gainRows(gains([[100, 99.978], [100, 100.2], [100, 100]]), [0, 0, 0], 100);
  assert.deepEqual(rows.filter(hasEffect).map(({ group }) => group), [1], "a move that costs has an effect");
});
