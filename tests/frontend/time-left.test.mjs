import assert from "node:assert/strict";
import { test } from "node:test";
import { TimeLeft } from "../../frontend/js/ui/time-left.js";

test("the time left follows the rate since the stage was first seen", () => {
  const left = new TimeLeft();
  assert.equal(left.words("reading", 10, 110, 0), "");
  assert.equal(left.words("reading", 20, 110, 1000), "", "too early");
  assert.equal(left.words("reading", 30, 110, 10_000), ", ≈ 40 s left");
  assert.equal(left.words("reading", 110, 110, 50_000), "", "done");
  assert.equal(left.words("costing", 1, 100, 60_000), "", "another stage begins anew");
  assert.equal(left.words("costing", 51, 100, 110_000), ", ≈ 50 s left");
  assert.equal(left.words("costing", 2, 100, 120_000), "", "it began again");
  assert.equal(left.words("costing", 9, 0, 130_000), "", "the total is not known");
});

test("after the first tenth it is right within a factor of 1.5, whenever the page came", () => {
  const steps = Array.from({ length: 200 }, (_, index) => (index % 20 === 0 ? 900 : 80)); // milliseconds, a long one now and then
  const ends = steps.map((_, index) => steps.slice(0, index + 1).reduce((sum, each) => sum + each, 0));
  for (const first of [0, 40, 90]) {
    const left = new TimeLeft();
    left.words("costing", first, 200, first === 0 ? 0 : ends[first - 1]);
    for (const done of [first + 20, first + 37, first + 60, 180]) {
      const words = left.words("costing", done, 200, ends[done - 1]);
      const truth = (ends[199] - ends[done - 1]) / 1000;
      const said = Number(/≈ (\d+) s left/.exec(words)?.[1] ?? (words.includes("< 5 s") ? Math.min(truth, 5) : NaN));
      const rounding = 5; // seconds of the words
      assert.ok(said >= truth / 1.5 - rounding && said <= truth * 1.5 + rounding, `${first} to ${done}: ${words} of ${truth}`);
    }
  }
});
