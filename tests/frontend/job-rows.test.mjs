import assert from "node:assert/strict";
import { test } from "node:test";
import { addressesOf, MOST_AT_ONCE, rowTexts } from "../../frontend/js/jobs/job-rows.js";

test("a row shows the values of the answer, and keeps its others", () => {
  const running = { status: "running", stage: "running the graph", done: 3, total: 12, error: "" };
  assert.deepEqual(rowTexts(running), {
    status: "Running",
    stage: "running the graph: 3 of 12",
    error: "",
    used: null,
    best: null,
  });
  assert.equal(rowTexts({ status: "queued", stage: "", done: 0, total: 0 }).stage, "", "also where it was further before");
  assert.equal(rowTexts({ status: "queued", stage: "0 of 3 ended" }).stage, "0 of 3 ended");
  assert.equal(rowTexts({ status: "done", stage: "" }).stage, "");
  assert.equal(rowTexts({ status: "running", best_step_time_us: null }).best, "–");
  assert.equal(rowTexts({ status: "running", evaluations_used: 1200 }).used, "1,200");
});

test("one request asks for all rows of a page, of whatever kinds", () => {
  assert.deepEqual(addressesOf([]), []);
  const jobs = [{ kind: "run", id: "a" }, { kind: "graph", id: "b" }, { kind: "run", id: "c" }];
  assert.deepEqual(addressesOf(jobs), ["/states.json?run=a,c&graph=b"]);
  const many = Array.from({ length: MOST_AT_ONCE + 1 }, (_, index) => ({ kind: "run", id: String(index).padStart(32, "0") }));
  const [first, second, ...more] = addressesOf(many);
  assert.ok(first.length < 8000 && first.split(",").length === MOST_AT_ONCE, "as the longest comparison");
  assert.deepEqual([second, more], [`/states.json?run=${many[MOST_AT_ONCE].id}`, []]);
});
