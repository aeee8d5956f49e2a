import assert from "node:assert/strict";
import { test } from "node:test";
import { hasEnded } from "../../frontend/js/jobs/job-state.js";
import { initialState, reduce } from "../../frontend/js/run/run-state.js";
import { baseline, episode, finished, started, wholeRun } from "./events.mjs";

/** @typedef {import("./events.mjs").RunEvent} RunEvent */

/**
 * @param {RunEvent[][]} batches
 * @param {import("../../frontend/js/run/run-state.js").RunState} [state]
 */
function fed(batches, state = initialState()) {
  return batches.reduce((current, events) => reduce(current, { type: "events", events }), state);
}

test("replay in one piece equals live in any pieces", () => {
  const events = wholeRun(60);
  const replay = fed([events]);
  const oneByOne = fed(events.map((event) => [event]));
  const uneven = fed([events.slice(0, 7), events.slice(7, 8), events.slice(8, 41), events.slice(41)]);
  assert.deepEqual(oneByOne, replay);
  assert.deepEqual(uneven, replay);
  assert.equal(replay.episodes.length, 60);
  assert.equal(replay.lastSeq, 63);
});

test("an event that was seen is ignored, whatever it says now", () => {
  const events = wholeRun(5);
  const state = fed([events]);
  const again = fed([events, [episode(4, { step_time_us: 1 })]], state);
  assert.equal(again, state);
  const overlapping = fed([events.slice(0, 4), events.slice(2)]);
  assert.deepEqual(overlapping, state);
});

test("the same number twice in one batch counts once", () => {
  const state = fed([[started(1), episode(2), episode(2), episode(3)]]);
  assert.deepEqual(state.episodes.whole().map((shown) => shown.episode), [1, 2]);
});

test("events within a batch are taken in the order of their numbers", () => {
  const events = wholeRun(6);
  assert.deepEqual(fed([[...events].reverse()]), fed([events]));
});

test("an event that comes too early is not applied but reported as missing, until the rest has come", () => {
  const events = wholeRun(6);
  const gap = fed([events.slice(0, 3), events.slice(5)]);
  assert.equal(gap.missing, true);
  assert.equal(gap.lastSeq, 3);
  assert.equal(gap.episodes.length, 1);
  const mended = fed([events.slice(3)], gap);
  assert.equal(mended.missing, false);
  assert.deepEqual(mended, fed([events]));
});

test("a batch with a gap inside is applied up to the gap", () => {
  const events = wholeRun(6);
  const state = fed([[...events.slice(0, 4), ...events.slice(6)]]);
  assert.equal(state.lastSeq, 4);
  assert.equal(state.missing, true);
});

test("a page of a thinned run is whole: its gaps are no missing events", () => {
  const events = wholeRun(6);
  const thinned = [...events.slice(0, 4), ...events.slice(6)];
  const state = reduce(initialState(), { type: "events", events: thinned, whole: true });
  assert.equal(state.lastSeq, events.length);
  assert.equal(state.missing, false);
  assert.equal(state.episodes.length, fed([events]).episodes.length - 2);
  assert.equal(reduce(state, { type: "events", events: thinned, whole: true }), state);
});

test("the state before is left as it was", () => {
  const before = fed([wholeRun(3)]);
  const plain = () => structuredClone({
    ...before,
    episodes: [...before.episodes.whole()],
    improvements: [...before.improvements.whole()],
    updates: [...before.updates.whole()],
  });
  const copy = plain();
  const after = fed([[episode(7)]], before);
  const other = fed([[episode(7, { step_time_us: 1 })]], before);
  reduce(before, { type: "status", status: "done", error: "" });
  assert.deepEqual(plain(), copy);
  assert.deepEqual([after.episodes.last?.stepTimeUs, other.episodes.last?.stepTimeUs], [1000, 1]);
});

test("the best episode is the first with the least feasible step time", () => {
  const state = fed([
    [
      started(1),
      episode(2, { step_time_us: 900 }),
      episode(3, { step_time_us: 100, feasible: false }),
      episode(4, { step_time_us: 700 }),
      episode(5, { step_time_us: 700 }),
    ],
  ]);
  assert.equal(state.bestIndex, 2);
  assert.equal(fed([[started(1), episode(2, { feasible: false })]]).bestIndex, -1);
});

test("an improvement is an episode that fits and is faster than all before", () => {
  const times = [900, 950, 800, 100, 800, 700];
  const episodes = times.map((time, index) => episode(index + 2, { step_time_us: time, feasible: time !== 100 }));
  const whole = fed([[started(1), ...episodes]]);
  assert.deepEqual(whole.improvements.whole(), [0, 2, 5]);
  assert.equal(whole.improvements.last, whole.bestIndex);
  const pieces = fed([[started(1), ...episodes.slice(0, 2)], episodes.slice(2, 3), episodes.slice(3)]);
  assert.deepEqual(pieces.improvements.whole(), [0, 2, 5]);
});

test("a baseline that is emitted again replaces the one before", () => {
  const state = fed([[started(1), baseline(2, "random", 900), baseline(3, "cpu_only", null), baseline(4, "random", 850)]]);
  assert.deepEqual(
    state.baselines.map(({ method, step_time_us: time }) => [method, time]),
    [
      ["cpu_only", null],
      ["random", 850],
    ],
  );
});

test("progress is shown until the next episode or the end", () => {
  /** @type {RunEvent} */
  const progress = { type: "progress", seq: 2, version: 1, stage: "compiling", done: 1, total: 0 };
  assert.deepEqual(fed([[started(1), progress]]).progress, { stage: "compiling", done: 1, total: 0 });
  assert.equal(fed([[started(1), progress, episode(3)]]).progress, null);
  assert.equal(fed([[started(1), progress, finished(3)]]).progress, null);
});

test("an unknown type counts as seen, an unknown version is reported", () => {
  const odd = /** @type {RunEvent} */ (/** @type {unknown} */ ({ type: "novelty", seq: 2, version: 1 }));
  const state = fed([[started(1), odd, episode(3)]]);
  assert.equal(state.episodes.length, 1);
  assert.equal(state.unreadable, false);
  const newer = fed([[started(1), episode(2, { version: 2 }), episode(3)]]);
  assert.equal(newer.unreadable, true);
  assert.equal(newer.episodes.length, 1);
  assert.equal(newer.lastSeq, 3);
});

test("an event of a queued run means that it runs; a last status stays", () => {
  assert.equal(fed([[started(1)]]).status, "running");
  const cancelled = reduce(initialState("running"), { type: "status", status: "cancelled", error: "" });
  assert.equal(fed([[started(1)]], cancelled).status, "cancelled");
  assert.deepEqual(["queued", "running", "done", "failed", "cancelled"].map((status) => hasEnded(/** @type {any} */ (status))), [
    false,
    false,
    true,
    true,
    true,
  ]);
});

test("the same status again is the same state", () => {
  const state = initialState("running");
  assert.equal(reduce(state, { type: "status", status: "running", error: "" }), state);
});

test("placements are kept in two bytes a group", () => {
  const state = fed([[started(1), episode(2, { placement: [0, 255, 1] })]]);
  assert.deepEqual([...state.episodes.whole()[0].placement], [0, 255, 1]);
  assert.equal(state.episodes.whole()[0].placement.BYTES_PER_ELEMENT, 2);
});

test("a hundred thousand episodes in small batches: no batch copies what is there", () => {
  const events = wholeRun(2);
  let state = fed([events.slice(0, 2)]);
  const { items } = state.episodes;
  let seq = 3;
  while (state.episodes.length < 100_000) {
    const batch = Array.from({ length: 250 }, () => episode(seq, { episode: seq, evaluations: (seq += 1) }));
    state = reduce(state, { type: "events", events: batch });
  }
  assert.equal(state.episodes.items, items, "the items are where they were from the beginning");
  assert.equal(state.episodes.length, 100_000);
  assert.equal(state.episodes.last?.episode, seq - 1);
});

test("one episode that does not fit is remembered, whatever comes after it", () => {
  const events = wholeRun(6).map((event) => (event.type === "episode" && event.episode === 2 ? { ...event, feasible: false } : event));
  assert.equal(fed([wholeRun(6)]).anyInfeasible, false);
  assert.equal(fed([events.slice(0, 5), events.slice(5)]).anyInfeasible, true);
});
