// What the page of a policy makes of a training's events.
import assert from "node:assert/strict";
import { test } from "node:test";

import { formatGap } from "../../frontend/js/ui/format.js";
import { chartSentence, initialState, progressWords, reduce, stageSentence } from "../../frontend/js/jobs/policy-state.js";

/**
 * @param {number} seq
 * @param {number} seconds
 * @param {Partial<import("../../frontend/js/jobs/policy-state.js").ProgressEvent>} [more]
 * @returns {import("../../frontend/js/jobs/policy-state.js").ProgressEvent}
 */
function event(seq, seconds, more = {}) {
  const fields = { stage: "imitation", done: seconds / 10, mean_gap: 1 / seconds, held_out: [] };
  return { type: "progress", version: 1, seq, seconds, ...fields, ...more };
}

/**
 * @param {import("../../frontend/js/jobs/policy-state.js").PolicyState} state
 * @param {import("../../frontend/js/jobs/policy-state.js").ProgressEvent[]} events
 */
function fed(state, events) {
  return reduce(state, { type: "events", events });
}

/** As the server has them. */
const WORDS = {
  imitation: "Learning by imitation",
  reinforcement: "Reinforcement learning",
  held_out: "Evaluating held-out graphs",
};

/**
 * @param {string} graph
 * @param {number | null} gap
 */
function row(graph, gap) {
  return { graph, cluster: "2xK80", gap };
}

test("replaying at once gives what watching gave", () => {
  const events = [event(1, 1, { mean_gap: null, stage: "teacher" }), event(2, 2), event(3, 4)];
  const live = events.reduce((state, one) => fed(state, [one]), initialState());
  assert.deepEqual(live, fed(initialState(), events));
  assert.deepEqual(live.points, [{ seconds: 2, gap: 0.5 }, { seconds: 4, gap: 0.25 }]);
  assert.equal(fed(live, events), live);
});

test("after a lost worker seconds that are emitted again replace the old ones", () => {
  const state = fed(initialState(), [event(1, 1), event(2, 2), event(3, 5), event(4, 3), event(5, 4)]);
  assert.deepEqual(state.points.map(({ seconds }) => seconds), [1, 2, 3, 4]);
  assert.equal(state.seconds, 4);
});

test("held-out rows stand at their positions: emitted again they appear once, two of one name twice", () => {
  const rows = [row("a", 0.1), row("b", 0.3)];
  const first = event(1, 5, { stage: "held_out", held_out: rows, held_out_from: 0 });
  const third = event(2, 5, { stage: "held_out", held_out: [row("a", 0.5)], held_out_from: 2 });
  const state = fed(initialState(), [first, third]);
  assert.deepEqual(state.heldOut, [...rows, row("a", 0.5)]);
  assert.equal(stageSentence(state, WORDS), "Evaluating held-out graphs: 3 so far, against the search 30 % slower on average");
  const misfit = event(3, 5, { stage: "held_out", held_out: [row("c", null)], held_out_from: 3 });
  const words = "Evaluating held-out graphs: 4 so far, against the search 30 % slower on average, 1 does not fit";
  assert.equal(stageSentence(fed(state, [misfit]), WORDS), words);
  const alone = event(1, 5, { stage: "held_out", held_out: [row("c", null)], held_out_from: 0 });
  const none = "Evaluating held-out graphs: 1 so far, 1 does not fit";
  assert.equal(stageSentence(fed(initialState(), [alone]), WORDS), none);
  const again = event(3, 5, { stage: "held_out", held_out: [row("a", 0.2)], held_out_from: 0 });
  assert.deepEqual(fed(state, [again]).heldOut, [row("a", 0.2)], "a worker that takes it up begins with the first");
});

test("rows of events that do not say where they stand come after those that are there", () => {
  const events = [event(1, 5, { stage: "held_out", held_out: [row("a", 0.1)] }), event(2, 5, { held_out: [row("a", 0.3)] })];
  assert.deepEqual(fed(initialState(), events).heldOut, [row("a", 0.1), row("a", 0.3)]);
});

test("an event of a newer server is counted and reported", () => {
  const state = fed(initialState(), [event(1, 1), event(2, 2, { version: 2 })]);
  assert.deepEqual([state.lastSeq, state.unreadable, state.seconds], [2, true, 1]);
});

test("stage and chart in words", () => {
  assert.equal(stageSentence(initialState(), WORDS), "");
  assert.match(chartSentence(initialState(), false), /^A line appears here once/);
  assert.match(chartSentence(initialState(), true), /^No line: training ended/);
  const state = fed(initialState(), [event(1, 2), event(2, 10), event(3, 5, { done: 0.456 })]);
  assert.equal(stageSentence(state, WORDS), "Learning by imitation, 46 % of the training");
  assert.equal(chartSentence(state, true), "Against the best known placements: at first 50 % slower, at best 20 % slower, now 20 % slower.");
  assert.equal(stageSentence({ ...state, stage: "dreaming" }, WORDS), "dreaming, 46 % of the training");
});

test("a day of training has its sentence", () => {
  const points = Array.from({ length: 170_000 }, (_, index) => ({ seconds: index / 2, gap: 1 / (index + 1) }));
  assert.equal(chartSentence({ ...initialState(), points }, true), "Against the best known placements: at first 100 % slower, at best equally fast, now equally fast.");
});

test("while it is queued, again or for the first time, it shows no stage", () => {
  const state = fed(initialState(), [event(1, 5, { stage: "reinforcement", done: 0.43 })]);
  const waiting = "Waiting for a free worker.";
  /** @type {import("../../frontend/js/jobs/job-state.js").JobStatus} */
  const row = { status: "queued", error: "", stage: "Reinforcement learning, 43 %", done: 0, total: 0 };
  /** @type {(from: typeof state, jobStatus: typeof row) => string} */
  const words = (from, jobStatus) => progressWords(reduce(from, { type: "status", ...jobStatus }), WORDS);
  const building = { ...row, stage: "building ptb", done: 3, total: 32 };
  assert.match(words(state, row), /^Waiting for its turn.* goes on where it was\.$/);
  assert.equal(words(initialState(), building), waiting);
  assert.equal(words(state, { ...row, status: "running" }), "Reinforcement learning, 43 % of the training");
  assert.equal(words(state, { ...building, status: "running" }), "building ptb: 3 of 32");
  assert.equal(words(initialState(), { ...row, status: "running", stage: "" }), "Loading the graphs…");
});

test("an event that comes too early waits for those between", () => {
  const early = fed(initialState(), [event(1, 1), event(3, 3)]);
  assert.deepEqual([early.lastSeq, early.missing], [1, true]);
  const whole = fed(early, [event(2, 2), event(3, 3)]);
  assert.deepEqual([whole.lastSeq, whole.missing], [3, false]);
});

test("a state that says the same changes nothing", () => {
  const state = reduce(initialState(), { type: "status", status: "running", error: "" });
  assert.equal(state.status, "running");
  assert.equal(reduce(state, { type: "status", status: "running", error: "" }), state);
});

test("gaps", () => {
  assert.deepEqual(
    [0.0236, -0.004, 0.00001, -0.00001, 12.5, null, NaN].map(formatGap),
    ["2.4 % slower", "0.4 % faster", "equally fast", "equally fast", "1,250 % slower", "–", "–"],
  );
});
