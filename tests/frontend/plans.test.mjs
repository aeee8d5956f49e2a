// A search for plans as its page sees it: the state from events, and what the chart shows of it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { formatRate, planModel, planWords, soFarWords } from "../../frontend/js/chart/plan-points.js";
import { fastest, initialState, reduce } from "../../frontend/js/jobs/plan-state.js";

const NAMES = { devices: ["GPU:0", "GPU:1"], usual: { data_parallel: "a replica on each GPU" } };
const GIB = 1024 ** 3;

/**
 * @param {number} us of a batch of eight samples
 * @param {Partial<import("../../frontend/js/jobs/plan-state.js").ToldPlan>} [changes]
 */
function plan(us, changes = {}) {
  const replicas = [{ devices: [0], micro_batch: 4, micro_batches: 2, turns: [] }];
  return { samples_per_second: 8e6 / us, batch_time_us: us, peak_bytes: [GIB, 2 * GIB], replicas, is_best: false, usual: null, ...changes };
}

/**
 * @param {...object} listed without numbers
 * @returns {any}
 */
function events(...listed) {
  return { type: "events", events: listed.map((event, index) => ({ seq: index + 1, version: 1, ...event })) };
}

test("plans and progress come from the events", () => {
  const state = reduce(initialState("running"), events({ type: "progress", done: 3, total: 9 }, { type: "plan", ...plan(5) }));
  assert.deepEqual([state.lastSeq, state.done, state.total, state.plans.length], [2, 3, 9, 1]);
  assert.equal(reduce(state, events({ type: "progress", done: 3, total: 9 })), state);
});

test("another attempt begins without the plans of the lost one", () => {
  const told = { type: "plan", ...plan(5) };
  const state = reduce(initialState("running"), events(told, told, { type: "again" }, told));
  assert.deepEqual([state.plans.length, state.total], [1, 0]);
});

test("an event of another version is noted and a gap is waited for", () => {
  const odd = reduce(initialState("running"), events({ version: 2, type: "plan" }));
  assert.ok(odd.unreadable && odd.plans.length === 0);
  const gap = reduce(initialState("running"), { type: "events", events: [{ seq: 2, version: 1, type: "again" }] });
  assert.ok(gap.missing && gap.lastSeq === 0);
});

test("the status changes beside the events", () => {
  const state = initialState("queued");
  assert.equal(reduce(state, { type: "status", status: "queued", error: "" }), state);
  assert.equal(reduce(state, { type: "status", status: "done", error: "" }).status, "done");
});

test("points stand at the most memory of a device and name the best and the usual plans", () => {
  const model = planModel([plan(9, { usual: "data_parallel", is_best: true }), plan(4, { is_best: true }), plan(6)], NAMES);
  assert.ok(model);
  assert.deepEqual(model.points.map(({ kind, label }) => [kind, label]), [
    ["usual", "a replica on each GPU"],
    ["other", ""],
    ["best", "best"],
  ]);
  assert.ok(model.points.every(({ bytes }) => bytes === 2 * GIB));
  assert.match(model.points[0].words, /samples a second, at most 2\.00 GiB of a device\. a replica on each GPU: 1 replica: GPU:0 2 × 4/);
  assert.ok(model.rates[0] < model.points[0].rate && model.rates[1] > model.points[2].rate);
});

test("a usual plan may be the best, and may have an unknown name and no replicas", () => {
  const both = planModel([plan(4, { usual: "some_way", replicas: [] })], NAMES);
  assert.ok(both);
  assert.equal(both.points[0].label, "best: some way");
  assert.match(both.points[0].words, /of a device\. some way$/);
});

test("without a plan that takes time there is nothing to show", () => {
  assert.equal(planModel([], NAMES), null);
  assert.equal(planModel([plan(1, { samples_per_second: null })], NAMES), null);
});

test("many replicas are cut off", () => {
  const replicas = Array.from({ length: 10 }, () => ({ devices: [0, 1], micro_batch: 1, micro_batches: 3, turns: [] }));
  const words = planWords(plan(1, { replicas }), NAMES.devices);
  assert.ok(words.startsWith("10 replicas: GPU:0 + GPU:1 3 × 1, ") && words.endsWith(", 2 more"));
});

test("devices that take stages in turn are said as alternatives", () => {
  const devices = ["GPU:0", "GPU:1", "GPU:2"];
  const staged = { devices: [0, 1, 2], micro_batch: 1, micro_batches: 3, turns: [[0, 2]] };
  assert.equal(planWords(plan(1, { replicas: [staged] }), devices), "1 replica: (GPU:0 or GPU:2) + GPU:1 3 × 1");
});

test("the sentence so far tells the best plan beside the usual ones", () => {
  const usual = plan(8, { usual: "data_parallel" });
  assert.equal(soFarWords([], NAMES), "");
  assert.match(soFarWords([usual, plan(4)], NAMES), /^So far 2,000,000 samples a second, 100 % more than the best usual plan: 1 replica/);
  assert.match(soFarWords([usual], NAMES), /no more than a usual plan/);
  assert.match(soFarWords([plan(4)], NAMES), /^So far 2,000,000 samples a second: 1 replica/);
});

test("the fastest plan has the shortest batch, and rates have four digits", () => {
  assert.equal(fastest([plan(5), plan(3), plan(4)])?.batch_time_us, 3);
  assert.equal(fastest([]), undefined);
  assert.deepEqual([formatRate(314.62), formatRate(1234.5), formatRate(31.456)], ["314.6", "1,235", "31.46"]);
});
