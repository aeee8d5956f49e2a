import assert from "node:assert/strict";
import { test } from "node:test";

import { whyHere } from "../../frontend/js/step/why-here.js";

const LOOKS = [{ index: 0, label: "GPU 0" }, { index: 1, label: "GPU 1" }, { index: 2, label: "CPU 0" }];
/**
 * @param {(number | null)[]} stepTimesUs
 * @param {number[]} [missingBytes]
 */
const why = (stepTimesUs, missingBytes = [0, 0, 0]) => whyHere(LOOKS, 0, { nowUs: 10_000, stepTimesUs, missingBytes });

test("the best place is said with what the others would cost", () => {
  assert.equal(why([10_000, 12_000, 30_000]), "GPU 0 is the best place: elsewhere the step would take 2.00 ms (GPU 1) to 20.0 ms (CPU 0) longer.");
  assert.equal(why([10_000, 12_000, null]), "GPU 0 is the best place: on GPU 1 the step would take 2.00 ms longer.");
});

test("a better place is said, and that the placement does not use it", () => {
  assert.match(why([10_000, 9_000, 30_000]), /^GPU 1 would be better: the step would take 1\.00 ms less\./);
});

test("places that hardly differ are not called better or worse", () => {
  assert.match(why([10_000, 10_005, 9_995]), /hardly matters/);
  assert.equal(why([10_000, 10_005, 30_000]), "GPU 0 and GPU 1 are as good as each other; on CPU 0 the step would take 20.0 ms longer.");
});

test("what is spread over devices is said to be so", () => {
  const spread = (/** @type {number[]} */ stepTimesUs) => whyHere(LOOKS.slice(0, 2), -1, { nowUs: 10_000, stepTimesUs, missingBytes: [0, 0] });
  assert.equal(spread([12_000, 13_000]), "It is best spread as it is: with all of it on one device the step would take 2.00 ms (GPU 0) to 3.00 ms (GPU 1) longer.");
  assert.match(spread([9_000, 13_000]), /^All of it on GPU 0 would be better: the step would take 1\.00 ms less/);
  assert.equal(spread([10_001, 13_000]), "All of it on GPU 0 would be as good as it is; on GPU 1 the step would take 3.00 ms longer.");
});

test("what has no room and what may not run elsewhere is said", () => {
  assert.equal(why([10_000, null, null]), "Only GPU 0 can run it.");
  assert.equal(why([10_000, 12_000, null], [0, 5, 0]), "It is on GPU 0 since GPU 1 has no room for it.");
  assert.match(why([10_000, 9_000, 30_000], [0, 5, 0]), /on CPU 0 the step would take 20\.0 ms longer\. GPU 1 has no room for it\.$/);
});
