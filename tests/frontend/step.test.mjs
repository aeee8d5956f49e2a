// One step of a placed graph: it is read from the server's bytes, laid out in rows, zoomed, and put into words.
import assert from "node:assert/strict";
import { test } from "node:test";

import { activityAt, firstAbove, idleTimes, lanesOf, visibleBars } from "../../frontend/js/step/lanes.js";
import { NONE, Step } from "../../frontend/js/step/step.js";
import { devicePartsOf } from "../../frontend/js/step/device-parts.js";
import { boundSentence, idleOfDevices, peakSentence, stepSentence } from "../../frontend/js/step/step-words.js";
import { memoryScale } from "../../frontend/js/step/memory-scale.js";
import { TimeAxis } from "../../frontend/js/step/time-axis.js";
import { changeWords, costWords } from "../../frontend/js/step/move-buttons.js";
import { isKeptToken, KeptPlacements, knownOf } from "../../frontend/js/run/kept-placements.js";
import { movedGroups, newTrial, placementOf, redo, undo, withLocks, withMove } from "../../frontend/js/run/trial.js";
import { trialWords } from "../../frontend/js/step/trial-bar.js";
import { opRows } from "../../frontend/js/step/op-list.js";
import { verdict } from "../../frontend/js/step/verdict.js";
import { boundaryWords } from "../../frontend/js/step/boundary.js";
import { nodeFacts } from "../../frontend/js/step/node-facts.js";
import { segmentsOf } from "../../frontend/js/step/chain-list.js";
import { KEPT } from "./kept.mjs";
import { bytes } from "./steps.mjs";

const LABELS = ["GPU 0", "GPU 1"];

test("a step is read whole, wherever its bytes begin", () => {
  const step = new Step(bytes());
  assert.deepEqual([step.opCount, step.transferCount, step.stepTimeUs], [2, 1, 35]);
  assert.deepEqual(step.span(2), [10, 15]);
  assert.deepEqual([step.opOf(2), step.opOf(1), step.awaited(0)], [0, 1, NONE]);
  assert.deepEqual(step.destinations(0), [1]);
  assert.deepEqual([...step.isCritical], [1, 1, 1]);
  assert.deepEqual([...step.memory(0).bytes], [100, 0]);
  assert.deepEqual([...step.memory(1).bytes], [7]);
  assert.throws(() => step.array("nothing"), /nothing/);
});

test("a step of a newer server says so", () => {
  assert.throws(() => new Step(bytes({ version: 2 })), /older than the server/);
});

test("each device has a row, followed by its links", () => {
  const lanes = lanesOf(new Step(bytes()), LABELS);
  assert.deepEqual(
    lanes.map(({ what, label, activities }) => [what, label, ...activities]),
    [["ops", "GPU 0", 0], ["transfers", "GPU 0 → GPU 1", 2], ["ops", "GPU 1", 1]],
  );
  const [, bus] = lanesOf(new Step(bytes({ contention: "bus" })), LABELS);
  assert.equal(bus.label, "GPU 0 → others");
});

/** @param {number} count of bars of 1 µs with 1 µs between */
function comb(count) {
  const starts = Float64Array.from({ length: count }, (_, index) => 2 * index);
  return {
    what: /** @type {const} */ ("ops"),
    device: 0,
    label: "",
    activities: Int32Array.from(starts, (_, index) => index),
    starts,
    ends: starts.map((start) => start + 1),
  };
}

test("bars that share a pixel are drawn as one, and none is lost", () => {
  const lane = comb(20_000);
  let drawn = 0;
  let members = 0;
  visibleBars(lane, [0, 40_000], 1000, () => 0, (from, to, _place, count) => {
    assert.ok(from <= to && from >= 0 && to <= 1000);
    drawn += 1;
    members += count;
  });
  assert.equal(members, 20_000);
  assert.ok(drawn <= 1000, String(drawn));
});

test("bars of another look stay apart, and what is outside is left out", () => {
  const lane = comb(100);
  /** @type {number[]} */
  const places = [];
  visibleBars(lane, [50, 60], 10, (place) => place % 2, (_from, _to, place) => places.push(place));
  assert.deepEqual(places, [25, 26, 27, 28, 29]);
});

test("the bar under the pointer is found, and one beside it within reach", () => {
  const lane = comb(100);
  assert.equal(activityAt(lane, 20.5, 0), 10);
  assert.equal(activityAt(lane, 21.2, 0), NONE);
  assert.equal(activityAt(lane, 21.2, 0.3), 10);
  assert.equal(activityAt(lane, 21.9, 0.3), 11);
});

test("firstAbove agrees with a search from the start", () => {
  const values = [0, 1, 1, 2, 5];
  for (const value of [-1, 0, 0.5, 1, 4, 5, 6]) {
    const slow = values.findIndex((each) => each > value);
    assert.equal(firstAbove(values, value), slow < 0 ? values.length : slow);
  }
});

test("a zoom stays within the step and keeps its middle", () => {
  const axis = new TimeAxis();
  axis.setLength(100);
  assert.ok(axis.showsAll);
  axis.zoom(2, 0);
  assert.deepEqual(axis.domain, [0, 50]);
  axis.setLength(200);
  assert.deepEqual(axis.domain, [0, 100], "another step, the same part of it");
  axis.pan(0.5);
  assert.deepEqual(axis.domain, [50, 150]);
  axis.reveal([160, 170]);
  assert.ok(axis.domain[0] <= 160 && axis.domain[1] >= 170);
  axis.fit();
  assert.ok(axis.showsAll);
});

test("the sentence has the engine's shares", () => {
  const step = new Step(bytes());
  assert.equal(stepSentence(step), "The critical chain takes 35.00 µs: for 86 % of it a device runs ops; for 14 % data is sent between devices.");
  const queued = { "chain.activity": Int32Array.of(0, 2, 1, 1), "chain.behind": Int32Array.of(-1, 0, 0, -1), "chain.cause": Uint8Array.of(0, 4, 4, 0), "chain.start_us": Float64Array.of(0, 10, 15, 25), "chain.end_us": Float64Array.of(10, 15, 25, 35) };
  assert.equal(
    stepSentence(new Step(bytes({ cause_us: [20, 0, 0, 0, 15] }, queued))),
    "The critical chain takes 35.00 µs: for 100 % of it a device runs ops (57 % those of the chain, 43 % others ahead of them in the queue).",
  );
  queued["chain.behind"] = Int32Array.of(-1, 2, 0, -1);
  assert.match(stepSentence(new Step(bytes({ cause_us: [20, 0, 0, 0, 15] }, queued))), /; for 14 % data waits behind other transfers\.$/);
  assert.deepEqual(idleOfDevices(step).map(({ us }) => us), [25, 15]);
});

test("the bound says what sets it, and what the chain has besides computing", () => {
  const words = (/** @type {Record<string, unknown>} */ texts) => boundSentence(new Step(bytes({ memory_bytes: [1000, 1000], ...texts })));
  assert.equal(
    words({}),
    "No placement can be faster than 30.0 µs: the longest chain of ops takes that long even if nothing waits. This step takes 5.00 µs more. Besides computing, its critical chain spends 5.00 µs on transfers.",
  );
  assert.match(words({ lower_bound_us: 35, bounds_us: { path: 30, work: 35, memory: 0 } }), /: the devices need that long for the work .*\. This step reaches it\.$/);
  assert.match(words({ cause_us: [35, 0, 0, 0, 0] }), /only computes\.$/);
  assert.equal(words({ lower_bound_us: 0, bounds_us: { path: 0, work: 0, memory: 0 } }), "");
});

test("an op without slack that is not on the chain holds it up", () => {
  const rows = (/** @type {number} */ slack) =>
    opRows(new Step(bytes({}, { "chain.activity": Int32Array.of(0, 2, 0), "op.slack_us": Float64Array.of(0, slack) })), { names: ["a", "b"], types: ["", ""], groups: [0, 1] }, LABELS, () => "g");
  assert.deepEqual(rows(0).map(({ critical, holdsUp }) => [critical, holdsUp]), [[true, false], [false, true]]);
  assert.equal(rows(0.1)[1].holdsUp, false);
});

test("the verdict compares, names the device that idles most what it waits for, and how far the bound is", () => {
  const groupName = (/** @type {number} */ op) => ["stem", "head"][op];
  const about = { stepTimeUs: 35, feasible: true, rivals: [], lowerBoundUs: 28, step: new Step(bytes()), labels: LABELS, groupName };
  assert.equal(
    verdict(about),
    "35.0 µs. The step is 25 % above the lower bound. GPU 0 idles 71 % of the step, after its last op.",
  );
  const waiting = new Step(bytes({ busy_us: [10, 20] }, { "idle.device": Int32Array.of(1, 1), "idle.cause": Uint8Array.of(0, 0), "idle.waits_us": Float64Array.of(9, 0, 0, 0, 1, 4, 0, 1), "idle.activity": Int32Array.of(0, 0), "idle.start_us": Float64Array.of(0, 30), "idle.end_us": Float64Array.of(9, 36) }));
  const rivals = [{ words: "one device", stepTimeUs: 40 }, { words: "Scotch", stepTimeUs: 35 }];
  assert.equal(
    verdict({ ...about, rivals, step: waiting }),
    "35.0 µs: 13 % faster than one device, as fast as Scotch. The step is 25 % above the lower bound. GPU 1 idles 43 % of the step, mostly to wait for stem: 29 % while GPU 0 computes its inputs, 11 % while its inputs are on a link, 3 % after its last op.",
  );
  const holding = new Step(bytes({ busy_us: [35, 0] }));
  assert.match(verdict({ ...about, step: holding }), /GPU 1 runs nothing and holds 7 B/);
  const peaks = [100, 0].map((bytes) => ({ time_us: 0, bytes, bytes_of_class: [bytes], holdings: 1 }));
  assert.match(verdict({ ...about, step: new Step(bytes({ busy_us: [35, 0], peaks })) }), /GPU 1 has nothing to do/);
  assert.equal(verdict({ ...about, feasible: false, step: null }), "35.0 µs. It does not fit in memory.");
  assert.equal(
    verdict({ ...about, rivals, step: null, isSaid: true }),
    "It is as fast as Scotch. The step is 25 % above the lower bound.",
    "what stands above it is not said again",
  );
  assert.equal(
    verdict({ ...about, rivals, step: null, isSaid: true, noun: "period" }),
    "By its period it is as fast as Scotch. The period is 25 % above the lower bound.",
    "in a stream",
  );
  assert.match(verdict({ ...about, rivals, name: "my try" }), /^my try: 35\.0 µs, 1[23](\.5)? % faster than one device/);
});

test("the verdict names no op whose gap is the smaller part, and no device where several compute", () => {
  const array = {
    "idle.device": Int32Array.of(1, 1),
    "idle.cause": Uint8Array.of(0, 1),
    "idle.waits_us": Float64Array.of(50, 0, 0, 0, 0, 20, 30, 0),
    "idle.activity": Int32Array.of(0, 1),
    "idle.start_us": Float64Array.of(0, 100),
    "idle.end_us": Float64Array.of(50, 150),
  };
  const about = { stepTimeUs: 125, feasible: true, rivals: [], lowerBoundUs: null, labels: [...LABELS, "CPU 0"], groupName: String };
  const three = { step_time_us: 125, devices: ["a", "b", "c"], memory_bytes: [1, 1, 1], rest_us: [0, 5, 0] };
  const words = (/** @type {number[]} */ busy) => verdict({ ...about, step: new Step(bytes({ ...three, busy_us: busy }, array)) });
  assert.equal(
    words([125, 20, 1]),
    "125 µs. GPU 1 idles 80 % of the step: 40 % while GPU 0 computes its inputs, 24 % while its inputs stand in a queue, 16 % while its inputs are on a link.",
  );
  assert.match(words([125, 20, 60]), /while another device computes its inputs/);
});

test("the times of a device add up to the step, whatever it does", () => {
  const step = new Step(bytes());
  const parts = devicePartsOf(step);
  assert.deepEqual(parts.map((each) => each.reduce((sum, { us }) => sum + us, 0)), [35, 35]);
  assert.deepEqual(parts[1].filter(({ us }) => us > 0), [{ name: "busy", us: 20 }, { name: "input", us: 10 }, { name: "link", us: 5 }]);
});

test("ops are listed with their text, times and whether they are critical", () => {
  const rows = opRows(new Step(bytes()), { names: ["A/<b>", "c"], types: ["Conv2D", "MatMul"], groups: [0, 1] }, LABELS, () => "g");
  assert.deepEqual(rows[0], { op: 0, device: 0, text: "a/<b>\nconv2d\ng\ngpu 0", timeUs: 10, slackUs: 0, startUs: 0, critical: true, holdsUp: false });
  assert.equal(rows[1].startUs, 15);
});

test("all devices have one scale of memory, with the limits that are near enough to show the curves beside them", () => {
  const scale = (/** @type {number[]} */ limits) => memoryScale(new Step(bytes()).texts.peaks.map(({ bytes: held }) => held), limits);
  assert.deepEqual(scale([50, 1000]), { most: 100, shown: [true, false] }, "a peak above its limit counts");
  assert.deepEqual(scale([300, 1000]), { most: 300, shown: [true, false] });
  assert.deepEqual(scale([1000, 1000]), { most: 100, shown: [false, false] });
});

test("a peak over the limit says by how much", () => {
  const step = new Step(bytes());
  const { peaks, memory_bytes: limits } = step.texts;
  assert.equal(peakSentence(peaks[0], limits[0]), "Peak 100 B of 50 B at 0 µs, 50 B more than it has");
  assert.equal(peakSentence(peaks[1], limits[1]), "Peak 7 B of 0.98 KiB at 0 µs");
});

test("the segments of the chain add up to the step", () => {
  const step = new Step(bytes());
  const segments = segmentsOf(step);
  assert.deepEqual(segments.map(({ cause }) => cause), ["compute", "transfer", "compute"]);
  assert.equal(segments.reduce((sum, { us }) => sum + us, 0), step.stepTimeUs);
  assert.deepEqual(idleTimes(step, 1), [{ index: 1, startUs: 0, endUs: 15 }]);
});

test("moves by hand can be undone and redone, and a new one ends the redoing", () => {
  const base = Uint8Array.of(0, 0, 1);
  const start = newTrial(base);
  const one = withMove(start, [0], 1);
  const two = withMove(one, [1, 2], 2);
  assert.deepEqual([...placementOf(two)], [1, 2, 2]);
  assert.deepEqual(movedGroups(two), [0, 1, 2]);
  assert.deepEqual([...placementOf(undo(two))], [1, 0, 1]);
  assert.deepEqual([...placementOf(redo(undo(two)))], [1, 2, 2]);
  assert.equal(undo(start), start);
  assert.equal(redo(two), two);
  const other = withMove(undo(two), [2], 0);
  assert.equal(redo(other), other);
  assert.deepEqual([...placementOf(other)], [1, 0, 0]);
  assert.equal(withMove(one, [0], 1), one, "nothing changes");
  assert.deepEqual(movedGroups(withMove(one, [0], 0)), [], "moved back");
  assert.deepEqual([...base], [0, 0, 1], "the episode's placement stays");
});

test("locked groups stay where they are, and a move of locked ones is none", () => {
  const trial = newTrial(Uint8Array.from([0, 0, 1]));
  const locked = new Set([1]);
  assert.deepEqual([...placementOf(withMove(trial, [0, 1, 2], 1, locked))], [1, 0, 1]);
  assert.equal(withMove(trial, [1], 1, locked), trial);
  assert.deepEqual(withMove(trial, [0, 1], 1, locked).moves[0].groups, [0]);
});

test("locking a selection locks all of it, and unlocks it if all of it is locked", () => {
  const some = withLocks(new Set([3]), [1, 3]);
  assert.deepEqual([...some].sort(), [1, 3]);
  assert.deepEqual([...withLocks(some, [1])], [3]);
  assert.deepEqual([...withLocks(withLocks(some, [1, 3]), [])], []);
});

test("a kept placement has −1 for a group on several devices, in requests as in answers", () => {
  const known = knownOf({ ...KEPT, device_of_group: [0, -1, 2], locked_groups: [] });
  assert.deepEqual(Array.from(known.placement), [0, -1, 2]);
  assert.deepEqual([...placementOf(withMove(newTrial(known.placement), [0], 1))], [1, -1, 2]);
  assert.equal(known.token, `placement-${KEPT.id}`);
  assert.ok(isKeptToken(known.token) && !isKeptToken("placement-../../x") && !isKeptToken("episode-3"));
  assert.equal(known.feasible, false);
});

test("a kept placement that the server does not have is asked for once", async () => {
  const asked = [];
  globalThis.fetch = async (address) => {
    asked.push(String(address));
    return new Response("{}", { status: 404 });
  };
  const token = `placement-${KEPT.id}`;
  const kept = new KeptPlacements("1", () => kept.known(token));
  assert.equal(kept.known(token), null);
  await new Promise((later) => setTimeout(later, 20));
  assert.equal(asked.length, 1);
  assert.ok(!kept.isLoading(token));
});

test("a trial undone step by step gives what it was, whatever the moves", () => {
  let seed = 7;
  const below = (/** @type {number} */ most) => (seed = (seed * 1103515245 + 12345) % 2 ** 31) % most;
  let trial = newTrial(new Uint8Array(20));
  const seen = [[...placementOf(trial)].join()];
  for (let step = 0; step < 200; step += 1) {
    const next = withMove(trial, [below(20), below(20)], below(4));
    if (next !== trial) {
      seen.push([...placementOf(next)].join());
    }
    trial = next;
  }
  for (const expected of seen.toReversed()) {
    assert.equal([...placementOf(trial)].join(), expected);
    trial = undo(trial);
  }
});

test("what moving groups costs is said of each other device", () => {
  const looks = /** @type {import("../../frontend/js/graph/devices.js").DeviceLook[]} */ (
    ["GPU 0", "GPU 1", "GPU 2", "CPU 0"].map((label, index) => /** @type {unknown} */ ({ index, label }))
  );
  const gains = { nowUs: 1000, stepTimesUs: [1000, 1094, 900, null], missingBytes: [0, 0, 5, 0] };
  assert.equal(costWords("conv", looks, 0, gains), "conv: GPU 1 9.4 % slower: 1.000 → 1.094 ms, GPU 2 does not fit, CPU 0 not allowed");
});

test("a group on several devices has its parts by device, and the edges where they meet in words", () => {
  const cuts = { "cut.source": Int32Array.of(0), "cut.target": Int32Array.of(1), "cut.bytes": Float64Array.of(2048) };
  const step = new Step(bytes({}, { ...cuts, "op.peak_share": Float64Array.of(0, 0) }));
  const { parts, deviceOf, deviceOfOp, cut } = nodeFacts(step, [0, 0], 1);
  assert.deepEqual(cut, new Set([0]));
  assert.deepEqual(parts.get(0), [{ device: 0, ops: 1, timeUs: 10 }, { device: 1, ops: 1, timeUs: 20 }]);
  assert.deepEqual([[...deviceOf], Array.from(deviceOfOp ?? [])], [[-1], [0, 1]]);
  assert.equal(nodeFacts(step, [0, 1], 2).deviceOfOp, null, "no group is split");
  const ops = { groupOf: () => 0, opName: (/** @type {number} */ op) => `op${op}` };
  assert.equal(boundaryWords(step.cuts, 0, ops), "1 edge inside it is between two devices (2.00 KiB a step): op0 → op1.");
  assert.match(boundaryWords(new Step(bytes()).cuts, 0, ops), /^No edge inside it/);
});

test("the words of a trial and of a move", () => {
  assert.equal(trialWords(1, null, 1000), "By hand: 1 group moved, simulating…");
  assert.equal(
    trialWords(2, { stepTimeUs: 900, feasible: true }, 1000),
    "By hand: 2 groups moved, 10 % faster: 1.000 ms → 900.0 µs, simulated",
  );
  assert.match(trialWords(2, { stepTimeUs: 900, feasible: false }, 1000), /; it does not fit in memory$/);
  assert.equal(changeWords(1000, null, -1), "not allowed");
  assert.equal(changeWords(1000, 900, 5), "does not fit");
  assert.equal(changeWords(1000, 1011, 0), "1.1 % slower: 1.000 → 1.011 ms");
  assert.equal(changeWords(999, 1011, 0), "1.2 % slower: 999.0 µs → 1.011 ms");
  assert.equal(changeWords(1000, 1000, 0), "equally fast");
});
