// Which placement the page of a run shows, and what it waits for.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { KeptPlacements } from "../../frontend/js/run/kept-placements.js";
import { initialState, reduce } from "../../frontend/js/run/run-state.js";
import { ShownPlacement } from "../../frontend/js/run/shown-placement.js";
import { redo, undo, withMove } from "../../frontend/js/run/trial.js";
import { baseline, episode, finished, started } from "./events.mjs";

const events = [
  { ...baseline(1, "single_device", 1200), placement: [0, 0, 0] },
  episode(2, { episode: 1, step_time_us: 1000, placement: [0, 1, 0] }),
  episode(3, { episode: 2, step_time_us: 800, placement: [1, 1, 0] }),
  episode(4, { episode: 3, step_time_us: 900, placement: [1, 1, 1] }),
];
const LAST = 5;
const running = reduce(initialState("running"), { type: "events", events });
const done = reduce(reduce(running, { type: "events", events: [finished(LAST)] }), { type: "status", status: "done", error: "" });

/** The player of a page, without its buttons. */
class Player {
  shown = -1;
  following = true;
  moved = () => {};

  /** @param {import("../../frontend/js/run/run-state.js").RunState} state */
  update({ episodes }) {
    if (this.following && this.shown !== episodes.length - 1) {
      this.#go(episodes.length - 1);
    }
  }

  pause() {
    this.following = false;
  }

  /** @param {number} index */
  seek(index) {
    this.following = false;
    if (index !== this.shown) {
      this.#go(index);
    }
  }

  act() {
    this.following = true;
  }

  /** @param {number} index */
  #go(index) {
    this.shown = index;
    this.moved();
  }
}

beforeEach(() => {
  globalThis.matchMedia = /** @type {any} */ (() => ({ matches: false }));
});

/**
 * @param {import("../../frontend/js/run/run-state.js").RunState} state
 * @param {string} [token]
 */
function page(state, token = "") {
  const player = new Player();
  /** @type {{ shows: number, words: string }} */
  const seen = { shows: 0, words: "" };
  const shown = new ShownPlacement({ state, lastSeq: LAST, methodLabels: {} }, token, new KeptPlacements("1", () => {}), /** @type {any} */ (player), {
    onShow: () => (seen.shows += 1),
    onWait: (words) => (seen.words = words),
    onLocks: () => {},
  });
  player.moved = () => shown.showEpisode();
  return { shown, player, seen };
}

test("while a run works its newest episode is shown, and once it has ended its best one", () => {
  const { shown } = page(initialState("running"));
  shown.update(running);
  assert.deepEqual([shown.base?.token, shown.token, shown.isLive, shown.episodeIndex], ["episode-3", "", true, 2]);
  shown.update(done);
  assert.deepEqual([shown.base?.stepTimeUs, shown.token, shown.isLive], [800, "", false]);
});

test("who looks at another placement keeps it when the run ends", () => {
  const { shown } = page(initialState("running"), "baseline-single_device");
  shown.update(running);
  assert.deepEqual([shown.token, shown.episodeIndex], ["baseline-single_device", -1]);
  shown.update(done);
  assert.equal(shown.token, "baseline-single_device");
});

test("of a run that has ended nothing is shown before all its events have come", () => {
  const { shown, seen } = page(initialState("done"));
  const half = reduce(initialState("done"), { type: "events", events: events.slice(0, 2) });
  shown.update(half);
  assert.deepEqual([seen.shows, shown.isAwaiting], [0, true]);
  shown.update(done);
  assert.deepEqual([seen.shows > 0, shown.isAwaiting, shown.base?.stepTimeUs], [true, false, 800]);
});

test("a placement that may come is waited for, and one that cannot come is named", () => {
  const { shown, seen } = page(initialState("running"), "episode-3");
  shown.update(initialState("running"));
  assert.equal(seen.words, "Waiting for episode 3…");
  shown.update(running);
  assert.deepEqual([seen.words, shown.token], ["", "episode-3"]);
  const other = page(initialState("done"), "episode-9");
  other.shown.update(done);
  assert.equal(other.seen.words, "This run has no placement “episode-9”.");
});

test("a change by hand stops the player, has its own words, and ends with the next episode", () => {
  const { shown, player } = page(initialState("running"));
  shown.update(running);
  shown.changeByHand((trial) => trial);
  assert.equal(shown.trial, null, "a change that changes nothing is none");
  shown.changeByHand((trial) => withMove(trial, [2], 0));
  assert.deepEqual([...Array.from(shown.placement ?? [])], [1, 1, 0]);
  assert.deepEqual([shown.token, shown.episodeIndex, player.following], ["hand", -1, false]);
  assert.equal(shown.sentence, "By hand, from episode 3.");
  assert.equal(shown.name, "By hand");
  assert.deepEqual([shown.compared?.token, shown.compared?.words], [null, "the placement by hand, from episode 3"]);
  shown.update(done);
  assert.equal(shown.token, "hand", "nothing takes it away");
  player.seek(0);
  assert.deepEqual([shown.token, shown.sentence], ["episode-1", "Episode 1: 1.000 ms."]);
});

test("a group on several devices stays so in what is made by hand, as it is in the event that it was made of", () => {
  const split = { ...episode(3, { episode: 2, step_time_us: 700, placement: [-1, 0, 1] }), parts: [[0, 1]], level_groups: 512 };
  const { shown } = page(initialState("running"));
  shown.update(reduce(initialState("running"), { type: "events", events: [{ ...started(1), levels: [3, 512] }, episode(2), split] }));
  assert.equal(shown.sentence, "Episode 2: 700.0 µs, found among 512 groups.");
  assert.deepEqual(shown.fields(), { placement: [-1, 0, 1], base: "event-3" });
  shown.changeByHand((trial) => withMove(trial, [1], 1));
  assert.deepEqual(shown.fields(), { placement: [-1, 1, 1], base: "event-3" });
  assert.equal(shown.compared?.base, "event-3");
  shown.changeByHand((trial) => withMove(trial, [0], 1));
  assert.deepEqual(shown.fields().placement, [1, 1, 1]);
});

test("with all moves undone the placement is the one they began with, and they can be made again", () => {
  const { shown } = page(initialState("done"), "baseline-single_device");
  shown.update(done);
  const before = [shown.token, shown.sentence, [...Array.from(shown.placement ?? [])]];
  shown.changeByHand((trial) => withMove(trial, [0], 1));
  shown.changeByHand(undo);
  assert.deepEqual([shown.token, shown.sentence, [...Array.from(shown.placement ?? [])]], before);
  assert.deepEqual([shown.trial, shown.history?.undone.length], [null, 1]);
  shown.changeByHand(redo);
  assert.equal(shown.token, "hand");
});

test("what was changed by hand is discarded for what it was made of", () => {
  const { shown } = page(initialState("done"), "baseline-single_device");
  shown.update(done);
  shown.changeByHand((trial) => withMove(trial, [0], 1));
  shown.discard();
  assert.deepEqual([shown.token, shown.trial], ["baseline-single_device", null]);
});
