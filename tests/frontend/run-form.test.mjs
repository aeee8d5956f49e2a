import assert from "node:assert/strict";
import { test } from "node:test";
import { hasCpu } from "../../frontend/js/forms/run-form.js";

test("a cluster has a CPU if it is chosen, is the kind itself, or is written", () => {
  const fields = { written: "", kindClass: "GPU", withCpu: false };
  assert.equal(hasCpu(fields), false);
  assert.equal(hasCpu({ ...fields, withCpu: true }), true);
  assert.equal(hasCpu({ ...fields, kindClass: "CPU" }), true);
  assert.equal(hasCpu({ ...fields, written: "2xK80", withCpu: true }), false, "what is written counts instead");
  assert.equal(hasCpu({ ...fields, written: "2xK80+cpu" }), true);
  assert.equal(hasCpu({ ...fields, written: '{"devices": [{"name": "/device:CPU:0", "kind": "CPU"}]}' }), true);
});
