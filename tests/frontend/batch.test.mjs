import assert from "node:assert/strict";
import { test } from "node:test";

import { batchPhases, batchRows, batchWords, blockWords, passOf, spanLabel, waitsOf } from "../../frontend/js/step/batch-model.js";
import { areaPath, batchMemoryScale, flightSpans, heldWords, holderWords, peakWords, valueAt } from "../../frontend/js/step/batch-memory-model.js";
import { placementOfToken } from "../../frontend/js/run/placements.js";
import { initialState, reduce } from "../../frontend/js/run/run-state.js";
import { streamFacts } from "../../frontend/js/run/stream-facts.js";

const LABELS = ["GPU 0", "GPU 1", "GPU 2"];

/**
 * @param {number} device
 * @param {number} stage
 * @param {number} micro
 * @param {[number, number]} span
 * @param {boolean} [isBackward]
 * @returns {import("../../frontend/js/step/batch-model.js").Block}
 */
function block(device, stage, micro, [start, end], isBackward = false) {
  return { device, stage, is_backward: isBackward, micro, start_us: start, end_us: end };
}

/** @returns {import("../../frontend/js/step/batch-memory-model.js").BatchMemory} */
function memory() {
  const peak = { time_us: 10, in_flight: 2, bytes_of_class: [10, 40], holders: [{ op: "f0", class: "activations", bytes: 40, micro_batches: 2 }], other_holders: 0 };
  return {
    limit_bytes: [70, 10_000, 70],
    floor_bytes: [10, 0, 0],
    byte_classes: ["weights", "activations"],
    curves: [{ time_us: [0, 10, 20], value: [30, 50, 10] }, { time_us: [0], value: [0] }, { time_us: [0], value: [0] }],
    in_flight: [{ time_us: [0, 10, 20, 30], value: [1, 2, 2, 0] }, { time_us: [0], value: [0] }, { time_us: [0], value: [0] }],
    peaks: [peak, { ...peak, bytes_of_class: [0, 0], holders: [] }, { ...peak, bytes_of_class: [0, 0], holders: [] }],
  };
}

/** @returns {import("../../frontend/js/step/batch-model.js").StreamBatch} two stages and two micro-batches; a third device is not used */
function batch(changes = {}) {
  return {
    stream: { micro_batches: 2, pipeline: "1f1b", contiguous: false },
    devices: ["/device:GPU:0", "/device:GPU:1", "/device:GPU:2"],
    batch_time_us: 155,
    period_us: 60,
    fill_end_us: 10,
    drain_start_us: 130,
    busiest: { kind: "device", device: 1, to: null },
    phase_busy_us: [[10, 40, 15], [0, 120, 0], [0, 0, 0]],
    device_load_us: [30, 60, 0],
    peak_bytes: [1, 2, 0],
    left_out: 0,
    memory: memory(),
    blocks: [
      block(0, 0, 1, [10, 20]),
      block(0, 0, 0, [0, 10]),
      block(1, 1, 0, [10, 30]),
      block(1, 2, 0, [30, 70], true),
      block(0, -1, 1, [150, 155]),
    ],
    ...changes,
  };
}

test("a row is a device that has blocks, in the order of time; the busiest is marked", () => {
  const rows = batchRows(batch(), LABELS);
  assert.deepEqual(rows.map(({ device, mark }) => [device, mark]), [[0, ""], [1, "busiest"]]);
  assert.deepEqual(rows[0].blocks.map(({ start_us: start }) => start), [0, 10, 150]);
});

test("where a link bounds the batch, its sender is marked", () => {
  const marked = (/** @type {number | null} */ to) => batchRows(batch({ busiest: { kind: "link", device: 0, to } }), LABELS)[0].mark;
  assert.equal(marked(1), "busiest link, to GPU 1");
  assert.equal(marked(0), "busiest outgoing bus");
});

test("fill, steady state and drain cover the batch; what takes no time is left out", () => {
  assert.deepEqual(batchPhases(batch()).map(({ name, startUs, endUs }) => [name, startUs, endUs]), [
    ["fill", 0, 10],
    ["steady state", 10, 130],
    ["drain", 130, 155],
  ]);
  assert.deepEqual(batchPhases(batch({ fill_end_us: 40, drain_start_us: 40 })).map(({ name }) => name), ["fill", "drain"]);
});

test("a block is named by its pass, and its span labelled where the number fits", () => {
  const { blocks } = batch();
  assert.deepEqual(blocks.map(passOf), ["forward", "forward", "forward", "backward", "optimizer"]);
  assert.equal(blockWords(blocks[3]), "Micro-batch 1, backward, stage 3");
  assert.equal(blockWords(blocks[4]), "Optimizer");
  assert.equal(spanLabel(blocks[0], 20), "2");
  assert.equal(spanLabel(blocks[0], 8), "");
  assert.equal(spanLabel(block(0, 0, 999, [0, 1]), 31), "");
  assert.equal(spanLabel(blocks[4], 100), "");
});

test("the words say how long the batch takes, its phases, what is busiest, and what is not drawn", () => {
  assert.equal(
    batchWords(batch(), LABELS),
    "2 micro-batches take 155.0 µs: fill 10.0 µs, steady state 120 µs, drain 25.0 µs. GPU 1 is busiest: it works 77 % of the batch and idles 6 % in the fill and 16 % in the drain.",
  );
  const link = batchWords(batch({ busiest: { kind: "link", device: 0, to: 1 }, left_out: 3 }), LABELS);
  assert.match(link, /GPU 0: busiest link, to GPU 1; it takes 60\.0 µs of each micro-batch\. The 3 micro-batches in the middle are not drawn\.$/);
});

test("the answer of a stream is the report's placement, also where an episode has a shorter period", () => {
  const events = [
    { type: "episode", seq: 1, version: 1, episode: 1, step_time_us: 900, feasible: true, placement: [0, 1], best_step_time_us: 900, evaluations: 1, elapsed_seconds: 1 },
    { type: "finished", seq: 2, version: 1, report: { method: "random", step_time_us: 1000, feasible: true, peak_bytes: [1, 1], evaluations: 1, wall_seconds: 1, lower_bound_us: 0, device_of_group: [1, 0] } },
  ];
  /** @type {any} */
  const [episode, finished] = events;
  const ofStream = { ...finished, report: { ...finished.report, stream: { micro_batches: 2, pipeline: "1f1b", contiguous: false } } };
  const best = (/** @type {any} */ last) => placementOfToken("best", reduce(initialState("done"), { type: "events", events: [episode, last], whole: true }), {});
  assert.equal(best(finished)?.stepTimeUs, 900);
  assert.deepEqual([best(ofStream)?.stepTimeUs, best(ofStream)?.explanation], [1000, "explanations/2"]);
});

test("only a report of a stream has figures of one", () => {
  /** @type {any} */
  const report = { stream: { micro_batches: 8, pipeline: "1f1b", contiguous: false }, period_us: 61_200, batch_time_us: 612_000, micro_batches_per_second: 13.0719, stages: 4 };
  assert.equal(streamFacts(null), null);
  assert.equal(streamFacts({ ...report, stream: undefined }), null);
  assert.deepEqual(streamFacts(report), { figures: { samples: "–", rate: "13.1", period: "61.20 ms", batch: "612.0 ms", stages: "4" }, note: "" });
  assert.equal(streamFacts({ ...report, samples_per_second: 104.575 })?.figures.samples, "105");
  assert.match(String(streamFacts({ ...report, stream: { ...report.stream, note: "not in turns" } })?.note), /: not in turns\.$/);
});

test("memory is read at any time of the batch, with what is in flight", () => {
  const curve = memory().curves[0];
  assert.deepEqual([0, 9, 10, 19, 20, 99].map((us) => valueAt(curve, us)), [30, 30, 50, 50, 10, 10]);
  assert.equal(heldWords(memory(), 0, "GPU 0", 12), "At 12.00 µs GPU 0 holds 50 B, 10 B of it always; 2 micro-batches in flight.");
  assert.equal(peakWords(memory(), 0), "Peak 50 B of 70 B");
});

test("the limit of a device that has a row is drawn where it is near the peaks", () => {
  assert.deepEqual(batchMemoryScale(memory(), [0, 1]).shown, [true, false, false]);
  assert.equal(Math.round(batchMemoryScale(memory(), [0, 1]).most), 74);
});

test("the area of a curve keeps each level to the next change, and to the end of the batch", () => {
  assert.equal(areaPath(memory().curves[0], 30, (us) => us, (value) => 100 - value), "M0.0 100.0L0.0 70.0H10.0L10.0 50.0H20.0L20.0 90.0H30.0V100.0Z");
});

test("what is in flight is told in spans of one count", () => {
  assert.deepEqual(flightSpans(memory().in_flight[0], 40), [{ count: 1, startUs: 0, endUs: 10 }, { count: 2, startUs: 10, endUs: 30 }]);
});

test("a holder says of how many micro-batches it is", () => {
  const holder = memory().peaks[0].holders[0];
  assert.equal(holderWords(holder), "of 2 micro-batches");
  assert.equal(holderWords({ ...holder, micro_batches: 0 }), "once, during the whole batch");
});

test("a device idles where none of its ops run, phase by phase", () => {
  assert.deepEqual(waitsOf(batch(), 0), [0, 80, 10]);
  assert.deepEqual(waitsOf(batch(), 1), [10, 0, 25]);
});
