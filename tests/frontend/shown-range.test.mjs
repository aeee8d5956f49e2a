// What a zoomed axis shows, of times or of episodes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { EpisodeAxis } from "../../frontend/js/chart/episode-axis.js";
import { fitted, ShownRange } from "../../frontend/js/chart/shown-range.js";

test("a zoom stays within the whole and keeps its middle", () => {
  assert.deepEqual(fitted([-10, 10], 1, [0, 100]), [0, 20]);
  assert.deepEqual(fitted([95, 115], 1, [0, 100]), [80, 100]);
  assert.deepEqual(fitted([-50, 500], 1, [0, 100]), [0, 100]);
  assert.deepEqual(fitted([49.9, 50.1], 10, [0, 100]), [45, 55]);
  assert.deepEqual(fitted([0, 3], 1, [1, 20]), [1, 4]);
  assert.deepEqual(fitted([1, 2], 8, [1, 4]), [1, 4], "a whole that is shorter than the least");
});

test("a whole that grows takes along what shows all of it, and leaves a zoom where it is", () => {
  const range = new ShownRange([1, 20], 4);
  range.setWhole([1, 50]);
  assert.deepEqual(range.domain, [1, 50]);
  range.show([10, 20]);
  range.setWhole([1, 100]);
  assert.deepEqual(range.domain, [10, 20]);
  assert.equal(range.showsAll, false);
  range.fit();
  assert.deepEqual(range.domain, [1, 100]);
});

test("listeners hear of changes alone", () => {
  const range = new ShownRange([0, 100], 1);
  let heard = 0;
  range.onChange(() => (heard += 1));
  range.fit();
  range.zoom(0.5);
  range.pan(0.3);
  assert.equal(heard, 0, "all of it is shown, before and after");
  range.zoom(4, 20);
  assert.deepEqual([heard, ...range.domain], [1, 15, 40]);
});

test("however it is zoomed and moved, a range shows a part of the whole", () => {
  const axis = new EpisodeAxis();
  axis.setWhole([1, 1000]);
  let random = 1;
  const draw = () => (random = (random * 48271) % 2147483647) / 2147483647;
  for (let turn = 0; turn < 2000; turn += 1) {
    [() => axis.zoom(0.3 + 3 * draw(), 1000 * draw()), () => axis.pan(4 * draw() - 2), () => axis.revealEpisode(1 + 999 * draw())][turn % 3]();
    const [low, high] = axis.domain;
    assert.ok(low >= 1 && high <= 1000 + 1e-9 && high - low >= 8 - 1e-6, `${low} ${high}`);
  }
});

test("an episode outside the zoom is brought into it, one inside moves nothing", () => {
  const axis = new EpisodeAxis();
  axis.setWhole([1, 1000]);
  axis.show([100, 200]);
  axis.revealEpisode(150);
  assert.deepEqual(axis.domain, [100, 200]);
  axis.revealEpisode(500);
  assert.deepEqual(axis.domain, [450, 550]);
  axis.revealEpisode(1000);
  assert.deepEqual(axis.domain, [900, 1000]);
});

test("the episode under the pointer is told once to every chart", () => {
  const axis = new EpisodeAxis();
  /** @type {(number | null)[]} */
  const heard = [];
  axis.onPoint(() => heard.push(axis.pointed));
  axis.point(3);
  axis.point(3);
  axis.point(null);
  assert.deepEqual(heard, [3, null]);
});
