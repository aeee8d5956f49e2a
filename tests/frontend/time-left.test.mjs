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
