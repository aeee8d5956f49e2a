/** The timer that waits until nothing has changed for a while, however long a frame takes. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { SettledTimer } from "../../frontend/js/ui/settled-timer.js";

const WAIT = 100;

/**
 * A timer on a clock and with frames that are the test's.
 *
 * @param {import("node:test").TestContext} context
 */
function begun(context) {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  /** @type {Map<number, () => void>} */
  const frames = new Map();
  let asked = 0;
  const requestAnimationFrame = (/** @type {() => void} */ act) => (frames.set((asked += 1), act), asked);
  const cancelAnimationFrame = (/** @type {number} */ frame) => frames.delete(frame);
  Object.assign(globalThis, { window: { setTimeout, clearTimeout }, requestAnimationFrame, cancelAnimationFrame });
  const timer = new SettledTimer();
  /** @type {string[]} */
  const acts = [];
  return {
    timer,
    acts,
    start: (/** @type {string} */ word) => timer.start(WAIT, () => acts.push(word)),
    tick: (/** @type {number} */ milliseconds) => context.mock.timers.tick(milliseconds),
    frame: () => [...frames].forEach(([number, act]) => frames.delete(number) && act()),
  };
}

test("it acts once, in the first frame after the wait", (context) => {
  const { timer, acts, start, tick, frame } = begun(context);
  start("one");
  tick(WAIT - 1);
  frame();
  start("two");
  tick(WAIT);
  assert.deepEqual(acts, []);
  assert.equal(timer.waits, true);
  frame();
  assert.deepEqual(acts, ["two"]);
  assert.equal(timer.waits, false);
  frame();
  assert.deepEqual(acts, ["two"]);
});

test("a slow frame is no rest: what starts it anew in the next frame comes first", (context) => {
  const { acts, start, tick, frame } = begun(context);
  start("one");
  tick(3 * WAIT);
  start("two");
  frame();
  assert.deepEqual(acts, []);
});

test("stopped, it does not act", (context) => {
  const { timer, acts, start, tick, frame } = begun(context);
  start("one");
  timer.stop();
  tick(WAIT);
  start("two");
  tick(WAIT);
  timer.stop();
  frame();
  assert.deepEqual(acts, []);
  assert.equal(timer.waits, false);
});
