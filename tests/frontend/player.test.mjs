import assert from "node:assert/strict";
import { test } from "node:test";
import { markShares } from "../../frontend/js/run/improvement-marks.js";
import { follow, initialPlayer, neighbour, seek, step, tick, togglePlay, withLength, withSpeed } from "../../frontend/js/run/player.js";

/**
 * @param {number} length
 * @param {boolean} [live]
 */
function playerWith(length, live = true) {
  return withLength(initialPlayer(10), length, live);
}

test("it follows the newest episode from the start", () => {
  assert.equal(initialPlayer().index, -1);
  assert.equal(playerWith(1).index, 0);
  assert.equal(withLength(playerWith(5), 9, true).index, 8);
});

test("a person who has moved away is left where they are", () => {
  const moved = seek(playerWith(20), 3);
  assert.equal(moved.mode, "paused");
  assert.equal(withLength(moved, 40, true).index, 3);
  assert.equal(follow(withLength(moved, 40, true)).index, 39);
});

test("seeking and stepping stay within the episodes", () => {
  const player = playerWith(5);
  assert.equal(seek(player, 99).index, 4);
  assert.equal(seek(player, -7).index, 0);
  assert.equal(step(player, -Infinity).index, 0);
  assert.equal(step(player, 1).index, 4);
  assert.equal(step(initialPlayer(), 1).index, -1);
  assert.equal(seek(initialPlayer(), 0).index, -1);
});

test("seeking while it plays goes on playing from there", () => {
  const player = seek(togglePlay(seek(playerWith(50), 0)), 20);
  assert.equal(player.mode, "playing");
  assert.equal(tick(player, 0.1).index, 21);
});

test("it plays at its speed, and parts of an episode add up", () => {
  let player = togglePlay(seek(playerWith(100), 0));
  for (let frame = 0; frame < 60; frame += 1) {
    player = tick(player, 1 / 60);
  }
  assert.ok(Math.abs(player.index - 10) <= 1, `${player.index}`);
  assert.equal(tick(withSpeed(player, 250), 0.1).index - player.index, 25);
});

test("play at the last episode begins at the first", () => {
  const player = togglePlay(playerWith(8));
  assert.equal(player.index, 0);
  assert.equal(player.mode, "playing");
});

test("play is nothing without episodes, and toggles to a pause", () => {
  assert.equal(togglePlay(initialPlayer()).mode, "following");
  assert.equal(togglePlay(togglePlay(playerWith(8))).mode, "paused");
});

test("at the last episode it follows a run that goes on, and stops at one that has ended", () => {
  const live = tick(togglePlay(playerWith(5, true)), 60);
  assert.deepEqual([live.index, live.mode], [4, "following"]);
  const ended = tick(togglePlay(playerWith(5, false)), 60);
  assert.deepEqual([ended.index, ended.mode], [4, "paused"]);
});

test("time does not move a player that does not play", () => {
  const paused = seek(playerWith(9), 2);
  assert.equal(tick(paused, 100), paused);
  const following = playerWith(9);
  assert.equal(tick(following, 100), following);
});

test("the same length again is the same state", () => {
  const player = playerWith(9);
  assert.equal(withLength(player, 9, true), player);
});

test("the improvements before and after the shown episode", () => {
  const improvements = [0, 4, 9];
  const at = (/** @type {number} */ index) => seek(playerWith(20), index);
  assert.deepEqual([-1, 1].map((by) => neighbour(at(4), improvements, by < 0 ? -1 : 1)), [0, 9]);
  assert.deepEqual([-1, 1].map((by) => neighbour(at(7), improvements, by < 0 ? -1 : 1)), [4, 9]);
  assert.equal(neighbour(at(0), improvements, -1), -1);
  assert.equal(neighbour(at(12), improvements, 1), -1);
  assert.equal(neighbour(at(3), [], 1), -1);
});

test("a mark stands where its episode is; of those that would touch, the last", () => {
  assert.deepEqual(markShares([0, 50, 100], 101), [0, 0.5, 1]);
  assert.deepEqual(markShares([0], 1), [0]);
  assert.deepEqual(markShares([100, 101, 900], 10_001), [0.01, 0.09]);
  assert.ok(markShares(Array.from({ length: 5000 }, (_, index) => index), 5000).length <= 251);
});
