// Which placement the page of a run shows, and what it waits for.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { KeptPlacements } from "../../frontend/js/run/kept-placements.js";
import { initialState, reduce } from "../../frontend/js/run/run-state.js";
import { whyNoLink } from "../../frontend/js/run/moves.js";
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
  const shown = new ShownPlacement({ state, lastSeq: LAST, devices: 2, methodLabels: {} }, token, new KeptPlacements("1", () => {}), /** @type {any} */ (player), {
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
  assert.deepEqual([shown.token, shown.episodeIndex, player.following], ["episode-3~2:0", -1, false]);
  assert.equal(shown.sentence, "By hand, from episode 3.");
  assert.equal(shown.name, "By hand");
  assert.deepEqual([shown.compared?.token, shown.compared?.words], ["episode-3~2:0", "the placement by hand, from episode 3"]);
  shown.update(done);
  assert.equal(shown.token, "episode-3~2:0", "nothing takes it away");
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
  assert.equal(shown.token, "baseline-single_device~0:1");
});

test("what was changed by hand is discarded for what it was made of", () => {
  const { shown } = page(initialState("done"), "baseline-single_device");
  shown.update(done);
  shown.changeByHand((trial) => withMove(trial, [0], 1));
  shown.discard();
  assert.deepEqual([shown.token, shown.trial], ["baseline-single_device", null]);
});

test("moves of an address are made to the placement that it names, and undone one by one", () => {
  const { shown, seen } = page(initialState("done"), "episode-2~0:0,1-2:1");
  shown.update(done);
  assert.deepEqual([...Array.from(shown.placement ?? [])], [0, 1, 1]);
  assert.deepEqual([shown.sentence, shown.token, seen.words], ["By hand, from episode 2.", "episode-2~0:0,1-2:1", ""]);
  shown.changeByHand(undo);
  assert.deepEqual([[...Array.from(shown.placement ?? [])], shown.token], [[0, 1, 0], "episode-2~0:0"]);
});

test("the way back and forward leaves what can be undone and made again", () => {
  const { shown } = page(initialState("done"), "baseline-single_device");
  shown.update(done);
  for (const group of [0, 1, 2]) {
    shown.changeByHand((trial) => withMove(trial, [group], 1));
  }
  shown.goTo("baseline-single_device~0:1");
  assert.deepEqual([shown.trial?.moves.length, shown.history?.undone.length], [1, 2]);
  shown.changeByHand(redo);
  assert.equal(shown.token, "baseline-single_device~0:1,1:1");
  shown.goTo("baseline-single_device~2:1");
  assert.deepEqual([shown.trial?.moves.length, shown.history?.undone.length], [1, 0], "other moves are others");
});

test("moves that cannot be made are refused in a sentence, and what they are made from is shown", () => {
  const refused = (/** @type {string} */ moves) => {
    const { shown, seen } = page(initialState("done"), `episode-2~${moves}`);
    shown.update(done);
    assert.deepEqual([shown.trial, shown.token, [...Array.from(shown.placement ?? [])]], [null, "", [1, 1, 0]]);
    return seen.words;
  };
  assert.match(refused("3:0"), /group 3; allowed: 0 to 2/);
  assert.match(refused("0-9999999:0"), /group 0-9999999; allowed: 0 to 2/);
  assert.match(refused("0:2"), /device 2; allowed: 0 to 1/);
  assert.match(refused("<b>"), /cannot be read at “<b>”/);
  assert.match(refused(Array.from({ length: 800 }, () => "0:1").join(",")), /3,199 characters; allowed: 1,500/);
  assert.match(refused("draft-unknown"), /too many for an address/);
});

test("moves that the server refuses are taken back, with its sentence", () => {
  const { shown, seen } = page(initialState("done"), "episode-2");
  shown.update(done);
  let key = "";
  shown.changeByHand((trial) => withMove(trial, [0], 0));
  key = "by hand 1";
  shown.refuse("by hand 0", "of an earlier one");
  assert.equal(seen.words, "");
  shown.refuse(key, "a: its group may not go there.");
  assert.deepEqual([shown.trial, seen.words], [null, "a: its group may not go there."]);
});

test("a move that the server refuses leaves those before it", () => {
  const { shown, seen } = page(initialState("done"), "episode-2");
  shown.update(done);
  shown.changeByHand((trial) => withMove(trial, [0], 0));
  shown.changeByHand((trial) => withMove(trial, [1], 0));
  shown.refuse("by hand 2", "a move: it breaks a rule.");
  assert.deepEqual([shown.trial?.moves, seen.words], [[{ groups: [0], device: 0 }], "a move: it breaks a rule."]);
  shown.refuse("by hand 3", "this one too.");
  assert.deepEqual([shown.trial, seen.words], [null, "this one too."]);
});

test("moves that are too many for an address are a draft of this browser; without its storage leaving loses them", () => {
  const groups = 2000;
  const placement = Array.from({ length: groups }, () => 0);
  const state = reduce(initialState("running"), { type: "events", events: [episode(1, { episode: 1, placement })] });
  const even = [...placement.keys()].filter((group) => group % 2 === 0);
  const storage = new Map();
  const made = () => {
    const { shown } = page(initialState("running"), "episode-1");
    shown.update(state);
    shown.changeByHand((trial) => withMove(trial, even, 1));
    return shown;
  };
  const lost = made();
  assert.ok(lost.wouldBeLost, "there is no storage");
  globalThis.localStorage = /** @type {any} */ ({
    getItem: (/** @type {string} */ key) => storage.get(key) ?? null,
    removeItem: (/** @type {string} */ key) => storage.delete(key),
    setItem: (/** @type {string} */ key, /** @type {string} */ value) => storage.set(key, value),
  });
  even.pop();
  const kept = made();
  assert.match(kept.token, /^episode-1~draft-[0-9a-z]+$/);
  assert.ok(!kept.wouldBeLost && kept.token.length < 40);
  const { shown } = page(initialState("running"), kept.token);
  shown.update(state);
  assert.deepEqual(shown.placement, kept.placement);
  assert.match(whyNoLink(`?show=${kept.token}`), /too many for a link/);
  assert.equal(whyNoLink("?show=episode-1~0:1"), "");
});
