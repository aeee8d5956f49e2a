/** The address follows the view: one step of the history for each settled change, and one for each playing. */

import assert from "node:assert/strict";
import { test } from "node:test";

const SETTLED = 400;

/**
 * A page with a history that can be read; its clock is the test's.
 *
 * @param {import("node:test").TestContext} context
 */
async function page(context) {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const steps = [""];
  const listeners = new Map();
  const to = (/** @type {string} */ address) => {
    location.search = address.slice(location.pathname.length);
  };
  const location = { pathname: "/runs/1/", search: "", hash: "" };
  const history = {
    pushState: (/** @type {[null, string, string]} */ ...[, , address]) => (to(address), steps.push(location.search)),
    replaceState: (/** @type {[null, string, string]} */ ...[, , address]) => (to(address), steps.splice(-1, 1, location.search)),
  };
  const addEventListener = (/** @type {[string, () => void]} */ ...[type, listen]) => listeners.set(type, listen);
  const window = { setTimeout, clearTimeout, addEventListener };
  Object.assign(globalThis, { window, location, history });
  const { ViewAddress } = await import("../../frontend/js/run/view-address.js");
  const address = new ViewAddress(() => {});
  const write = () => context.mock.timers.tick(1);
  const settle = () => (write(), context.mock.timers.tick(SETTLED));
  const back = () => {
    steps.pop();
    location.search = steps.at(-1) ?? "";
    listeners.get("popstate")();
  };
  return { address, steps, write, settle, back, leave: () => listeners.get("pagehide")() };
}

test("each settled change is a step, changes in quick succession are one", async (context) => {
  const { address, steps, settle } = await page(context);
  address.change({ shown: "episode-1" });
  address.change({ shown: "episode-2" });
  settle();
  address.change({ shown: "episode-3" });
  settle();
  assert.deepEqual(steps, ["", "?show=episode-2", "?show=episode-3"]);
});

test("a change stands in the address at once, and those that follow it quickly name the same step", async (context) => {
  const { address, steps, write, settle, back } = await page(context);
  address.change({ shown: "episode-1" });
  write();
  assert.deepEqual(steps, ["", "?show=episode-1"]);
  address.change({ shown: "episode-2" });
  write();
  address.change({ shown: "episode-3" });
  settle();
  assert.deepEqual(steps, ["", "?show=episode-3"]);
  address.change({ shown: "episode-4" });
  write();
  back();
  address.change({ shown: "episode-5" });
  settle();
  assert.deepEqual(steps, ["", "?show=episode-3", "?show=episode-5"], "the way back begins anew");
});

test("a slow playing is one step, which its last episode names; the next playing is another", async (context) => {
  const { address, steps, settle } = await page(context);
  [0, 1, 1, 1, 2].forEach((playing, index) => {
    address.change({ shown: `episode-${index + 1}` }, playing);
    settle();
  });
  assert.deepEqual(steps, ["", "?show=episode-1", "?show=episode-4", "?show=episode-5"]);
});

test("a change by a person after a playing is a step of its own", async (context) => {
  const { address, steps, settle } = await page(context);
  address.change({ shown: "episode-2" }, 1);
  settle();
  address.change({ groups: [3] });
  settle();
  address.change({ shown: "episode-3" }, 1);
  settle();
  assert.deepEqual(steps, ["", "?show=episode-2", "?show=episode-2&group=3", "?show=episode-3&group=3"]);
});

test("a playing that goes on after the way back does not replace what the person went back to", async (context) => {
  const { address, steps, settle, back } = await page(context);
  address.change({ shown: "episode-2" }, 1);
  settle();
  back();
  address.change({ shown: "episode-3" }, 1);
  settle();
  assert.deepEqual(steps, ["", "?show=episode-3"]);
});

test("a change before the page is left names the last step anew", async (context) => {
  const { address, steps, leave } = await page(context);
  address.change({ shown: "episode-2" });
  leave();
  assert.deepEqual(steps, ["?show=episode-2"]);
});
