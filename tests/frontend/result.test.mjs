import assert from "node:assert/strict";
import { test } from "node:test";

import { hasTwoPlacements, isSimplestFirst, nameOfBest, placementRows, resultOf } from "../../frontend/js/run/result.js";
import { placementOfToken } from "../../frontend/js/run/placements.js";
import { initialState, reduce } from "../../frontend/js/run/run-state.js";

/** @type {import("../../frontend/js/ui/contracts.js").Verdict} */
const verdict = { kind: "split", sentence: "Split over 2 devices: 34 % faster than one device (28 to 40 %)." };
const simplest = { step_time_us: 1010, devices_used: 2, crossing_edges: 3, tolerance: 0.02, within_error: true };
const report = {
  method: "random",
  step_time_us: 1000,
  feasible: true,
  peak_bytes: [1, 1],
  evaluations: 10,
  wall_seconds: 1,
  lower_bound_us: 1,
  device_of_group: [0, 1],
  devices_used: 2,
  crossing_edges: 96,
  verdict,
  prefer: "fastest",
  simplest: { ...simplest, device_of_group: [0, 0], parts: [] },
};

test("the report gives the result, without the long placement", () => {
  assert.deepEqual(resultOf(report), { step_time_us: 1000, devices_used: 2, crossing_edges: 96, verdict, prefer: "fastest", simplest });
});

test("a report of an older version, or none, leaves what the server knew", () => {
  const { verdict: _, ...older } = report;
  assert.equal(resultOf(older), null);
  assert.equal(resultOf(null), null);
  const stored = resultOf(report);
  assert.equal(resultOf(null, stored), stored);
  assert.equal(resultOf({ ...report, simplest: null }), null);
});

test("the simplest comes first where it may be as fast, or is preferred", () => {
  const first = (/** @type {object} */ change, /** @type {object} */ ofSimplest = {}) =>
    isSimplestFirst(resultOf({ ...report, ...change, simplest: { ...report.simplest, ...ofSimplest } }));
  assert.ok(first({}));
  assert.ok(!first({}, { within_error: false }));
  assert.ok(first({ prefer: "simplest=1%" }, { within_error: false }));
  assert.ok(!first({ crossing_edges: 3 }), "there is one placement");
  assert.ok(!hasTwoPlacements(null));
});

test("the two stand beside each other, the first to offer at the top", () => {
  const rows = placementRows(/** @type {NonNullable<ReturnType<typeof resultOf>>} */ (resultOf(report)));
  assert.deepEqual(rows, [
    { token: "simplest", name: "Simplest", stepTime: "1.010 ms, 1 % slower", devices: "2 devices", edges: "3 crossing edges" },
    { token: "best", name: "Fastest", stepTime: "1.000 ms", devices: "2 devices", edges: "96 crossing edges" },
  ]);
});

test("where the simplest is faster than the answer of a weak method, the answer is not called the fastest", () => {
  const faster = resultOf({ ...report, simplest: { ...report.simplest, step_time_us: 900 } });
  const [first, second] = placementRows(/** @type {NonNullable<typeof faster>} */ (faster));
  assert.equal(first.stepTime, "900.0 µs, 10 % faster");
  assert.equal(second.name, "The method’s own");
  assert.equal(nameOfBest(/** @type {NonNullable<typeof faster>} */ (faster)), second.name);
});

test("the token simplest names the simplest placement of a run that has ended", () => {
  const state = initialState("done");
  assert.equal(placementOfToken("simplest", state, {}), null);
  const events = /** @type {any} */ ([{ type: "finished", seq: 1, version: 1, report }]);
  const known = placementOfToken("simplest", reduce(state, { type: "events", events, whole: true }), {});
  assert.deepEqual(Array.from(known?.placement ?? []), [0, 0]);
  assert.equal(known?.stepTimeUs, 1010);
  assert.equal(known?.base, "simplest");
  assert.equal(known?.name, "Simplest placement", "the first word of a sentence");
});
