import assert from "node:assert/strict";
import test from "node:test";

import { placementOfToken } from "../../frontend/js/run/placements.js";
import { initialState, reduce } from "../../frontend/js/run/run-state.js";
import { FIRST_VIEW, searchOf, viewOf, withChange } from "../../frontend/js/run/view.js";
import { baseline, episode } from "./events.mjs";

const LABELS = { single_device: "One device" };

test("a view survives its address", () => {
  const view = { shown: "episode-17", against: "baseline-single_device", beside: true, colour: "slack", groups: [3, 12, 7], opened: ["a/b", "<b>&=?"], locked: [2, 5, 6, 7], drawn: /** @type {const} */ ("ops"), blocks: [3, 17] };
  assert.deepEqual({ ...viewOf(searchOf(view)) }, view);
});

test("selected groups stand in the address in their order; older addresses name one, or repeat the field", () => {
  assert.equal(searchOf({ ...FIRST_VIEW, groups: [3, 12, 7] }), "?group=3,12,7");
  assert.deepEqual(viewOf("?group=3").groups, [3]);
  assert.deepEqual(viewOf("?group=3&group=12,7").groups, [3, 12, 7]);
  assert.deepEqual(viewOf("?group=3,x,,-1,7,3,1e3").groups, [3, 7]);
  const many = Array.from({ length: 401 }, (_, index) => index);
  assert.equal(searchOf({ ...FIRST_VIEW, groups: many }), "?group=400", "of very many the chosen one");
  assert.deepEqual(viewOf(searchOf({ ...FIRST_VIEW, groups: many.slice(1) })).groups, many.slice(1));
});

test("locked groups stand in the address as ranges; what is none locks nothing", () => {
  assert.equal(searchOf({ ...FIRST_VIEW, locked: [7, 3, 8, 9] }), "?lock=3.7-9");
  assert.deepEqual(viewOf("?lock=3.7-9").locked, [3, 7, 8, 9]);
  for (const search of ["?lock=<b>", "?lock=9-3", "?lock=3,4", "?lock=0-9999999", "?lock=", `?lock=${"1.".repeat(900)}1`]) {
    assert.deepEqual(viewOf(search).locked, [], search);
  }
});

test("the first view has no address of its own, and leaves other fields alone", () => {
  assert.equal(searchOf(FIRST_VIEW), "");
  assert.equal(searchOf(FIRST_VIEW, "?page=2&show=best&open=a"), "?page=2");
});

test("what an address cannot mean is left out", () => {
  for (const search of ["?show=<b>", "?show=__proto__", "?group=-1", "?group=1e3", "?colour=A B", "?colour=device~0:1", "?show=~0:1", "?against="]) {
    assert.deepEqual({ ...viewOf(search) }, { ...FIRST_VIEW }, search);
  }
});

test("moves by hand stand in the address as they are written", () => {
  const view = { ...FIRST_VIEW, shown: "episode-17~3-5.9:1,3:0", against: "best~0:1", groups: [2] };
  assert.equal(searchOf(view), "?show=episode-17~3-5.9:1,3:0&against=best~0:1&group=2");
  assert.deepEqual({ ...viewOf(searchOf(view)) }, view);
});

test("a change that changes nothing gives the same view", () => {
  const view = withChange(FIRST_VIEW, { groups: [4] });
  assert.equal(withChange(view, { groups: [4] }), view);
});

/** A run with episodes 1, 4 and 9, as a thinned one has, and a baseline. */
function thinnedRun() {
  const times = new Map([[1, 30], [4, 20], [9, 25]]);
  const episodes = [...times].map(([number, us], index) =>
    episode(index + 2, { episode: number, step_time_us: us, placement: [number % 2, 0] }));
  const one = { ...baseline(1, "single_device", 28), placement: [0, 0] };
  return reduce(initialState("done"), { type: "events", events: [one, ...episodes, baseline(5, "cpu_only", null)], whole: true });
}

test("a token names the placement of an episode, of the best, of the newest and of a baseline", () => {
  const state = thinnedRun();
  const words = (/** @type {string} */ token) => placementOfToken(token, state, LABELS)?.words;
  assert.equal(words("episode-4"), "episode 4");
  assert.equal(words("best"), "episode 4");
  assert.equal(words("live"), "episode 9");
  assert.equal(words("baseline-single_device"), "One device");
  assert.deepEqual(Array.from(placementOfToken("episode-9", state, LABELS)?.placement ?? []), [1, 0]);
});

test("a token of what the run does not have names nothing", () => {
  const state = thinnedRun();
  for (const token of ["episode-2", "episode-10", "episode-0", "episode-x", "episode", "baseline-cpu_only", "baseline-random", "else-1", "constructor"]) {
    assert.equal(placementOfToken(token, state, LABELS), null, token);
  }
  assert.equal(placementOfToken("best", initialState(), LABELS), null);
});
