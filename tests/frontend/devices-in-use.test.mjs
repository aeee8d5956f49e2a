// Which devices the views list: all of a few, those in use of many.
import assert from "node:assert/strict";
import { test } from "node:test";
import { areMany, inUseOf, listedDevices, unusedWords } from "../../frontend/js/graph/devices-in-use.js";
import { colouring } from "../../frontend/js/graph/colouring.js";
import { deviceLooks } from "../../frontend/js/graph/devices.js";
import { lanesOf } from "../../frontend/js/step/lanes.js";
import { Step } from "../../frontend/js/step/step.js";
import { verdict } from "../../frontend/js/step/verdict.js";
import { bytes } from "./steps.mjs";

test("at most 16 devices are all listed, whatever they do", () => {
  assert.deepEqual(listedDevices(16, inUseOf(16, [3])), { listed: [...Array(16).keys()], words: "" });
  assert.equal(areMany(16), false);
});

test("of more devices those in use are listed, and a line counts the others", () => {
  assert.deepEqual(listedDevices(256, inUseOf(256, [200, 3, 3, -1])), { listed: [3, 200], words: "254 more devices have nothing to do" });
  assert.equal(listedDevices(17, inUseOf(17, Array(16).keys())).words, "1 more device has nothing to do");
  assert.equal(listedDevices(17, inUseOf(17, Array(17).keys())).words, "");
});

test("while nothing is known, the first ones stand for many devices", () => {
  assert.deepEqual(listedDevices(256, null), { listed: [...Array(16).keys()], words: "240 more devices" });
});

test("devices with nothing to do have names where they are few, and always in a small cluster", () => {
  const labels = Array.from({ length: 15 }, (_, device) => `GPU ${device}`);
  assert.equal(unusedWords([], 17), "");
  assert.equal(unusedWords(["GPU 9"], 17), "GPU 9 has nothing to do");
  assert.equal(unusedWords(labels.slice(0, 4), 17), "GPU 0, GPU 1, GPU 2, GPU 3 have nothing to do");
  assert.equal(unusedWords(labels.slice(0, 5), 17), "5 devices have nothing to do");
  assert.match(unusedWords(labels, 16), /^GPU 0, .*, GPU 14 have nothing to do$/);
});

const COUNT = 256;
const LABELS = Array.from({ length: COUNT }, (_, device) => `GPU ${device}`);

function largeStep() {
  const zeros = new Array(COUNT).fill(0);
  const texts = { devices: LABELS, memory_bytes: zeros, rest_us: zeros, sending_us: zeros, busy_us: Object.assign([...zeros], { 3: 10, 200: 20 }) };
  return new Step(bytes(texts, { "op.device": Int32Array.of(3, 200), "transfer.source": Int32Array.of(3), "transfer.destinations": Int32Array.of(200), "idle.device": Int32Array.of(3, 200) }));
}

test("the verdict of a large cluster counts the devices with nothing to do", () => {
  const about = { stepTimeUs: 35, feasible: true, rivals: [], lowerBoundUs: null, labels: LABELS, groupName: String };
  assert.match(verdict({ ...about, step: largeStep() }), /GPU 3 idles 71 % .*; 254 devices have nothing to do\.$/);
});

test("a timeline of a large cluster has rows for the devices in use alone", () => {
  const lanes = lanesOf(largeStep(), LABELS, [3, 200]);
  assert.deepEqual(lanes.map(({ label }) => label), ["GPU 3", "GPU 3 → GPU 200", "GPU 200"]);
});

test("a legend by device says which devices of a large cluster have nodes", () => {
  const looks = deviceLooks(LABELS.map((_, device) => ({ name: `/device:GPU:${device}`, kind: "V100", class: "GPU", memory_bytes: 1 })));
  const { inUse } = colouring("device", { placement: [3, 200, 3], looks, timeUs: null, bytes: [], step: null, gainShare: null, costs: null }, 3);
  assert.deepEqual([inUse?.length, inUse?.indexOf(true), inUse?.lastIndexOf(true)], [COUNT, 3, 200]);
});
