// Waiting for the step of the shown placement.
import assert from "node:assert/strict";
import { test } from "node:test";

import { StepWait } from "../../frontend/js/step/step-wait.js";

const step = /** @type {import("../../frontend/js/step/step.js").Step} */ (/** @type {unknown} */ ({ stepTimeUs: 800 }));
const later = /** @type {import("../../frontend/js/step/step.js").Step} */ (/** @type {unknown} */ ({ stepTimeUs: 700 }));

test("a wait ends with the next step that is known, not with a placement that is not explained yet", async () => {
  const wait = new StepWait();
  const next = wait.next();
  wait.know(null);
  wait.know(step);
  wait.know(later);
  assert.equal(await next, step);
});

test("a step that came before the wait does not end it", async () => {
  const wait = new StepWait();
  wait.know(step);
  const next = wait.next();
  wait.know(later);
  assert.equal(await next, later);
});

test("a later wait takes the place of an earlier one", async () => {
  const wait = new StepWait();
  let ended = false;
  void wait.next().then(() => (ended = true));
  const next = wait.next();
  wait.know(step);
  assert.equal(await next, step);
  assert.equal(ended, false);
});
