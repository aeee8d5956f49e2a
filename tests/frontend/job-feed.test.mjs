import assert from "node:assert/strict";
import { test } from "node:test";
import { connectionWords, JobFeed, PAGE_SIZE } from "../../frontend/js/jobs/job-feed.js";
import { initialState, reduce } from "../../frontend/js/run/run-state.js";
import { wholeRun } from "./events.mjs";

/** @typedef {import("./events.mjs").RunEvent} RunEvent */

/** A server with stored events, and a browser whose streams and clock the test moves by hand. */
class World {
  /** @param {RunEvent[]} events */
  constructor(events) {
    this.events = events;
    this.stored = events.length;
    this.status = "running";
    this.error = "";
    this.hidden = false;
    this.broken = false;
    this.gone = false;
    /** @type {FakeStream[]} */
    this.streams = [];
    /** @type {string[]} */
    this.asked = [];
    /** @type {string[]} */
    this.connections = [];
    /** @type {Map<number, { act: () => void, milliseconds: number }>} */
    this.timers = new Map();
    this.nextTimer = 1;
    this.state = initialState();
    this.feed = new JobFeed({
      eventsUrl: "events.json",
      streamUrl: "events",
      store: { state: () => this.state, apply: (action) => (this.state = reduce(this.state, action)) },
      onConnection: (connection) => this.connections.push(connection),
      surroundings: {
        getJson: (url) => this.answer(url),
        openStream: (url) => this.open(url),
        later: (act, milliseconds) => {
          this.timers.set(this.nextTimer, { act, milliseconds });
          return this.nextTimer++;
        },
        forget: (timer) => this.timers.delete(timer),
        isHidden: () => this.hidden,
      },
    });
  }

  /** @param {string} url */
  async answer(url) {
    this.asked.push(url);
    if (this.broken || this.gone) {
      throw Object.assign(new Error("no answer"), { status: this.gone ? 404 : 0 });
    }
    const query = new URLSearchParams(url.split("?")[1]);
    const after = Number(query.get("after"));
    const events = this.events.slice(after, Math.min(this.stored, after + Number(query.get("limit"))));
    return { events, status: this.status, error: this.error, last_seq: this.stored };
  }

  /** @param {string} url */
  open(url) {
    const stream = new FakeStream(url);
    this.streams.push(stream);
    return stream;
  }

  get openStreams() {
    return this.streams.filter(({ closed }) => !closed);
  }

  get stream() {
    return this.streams[this.streams.length - 1];
  }

  get connection() {
    return this.connections.at(-1);
  }

  /** Let all promises that are under way settle. */
  async settle() {
    for (let turn = 0; turn < 30; turn += 1) {
      await Promise.resolve();
    }
  }

  /** Let the one timer that is set go off; returns its milliseconds. */
  async tick() {
    assert.equal(this.timers.size, 1);
    const [[timer, { act, milliseconds }]] = this.timers;
    this.timers.delete(timer);
    act();
    await this.settle();
    return milliseconds;
  }
}

class FakeStream {
  /** @param {string} url */
  constructor(url) {
    this.url = url;
    this.closed = false;
    /** @type {Map<string, (event: { data: string }) => void>} */
    this.listeners = new Map();
  }

  /**
   * @param {string} type
   * @param {(event: { data: string }) => void} listener
   */
  addEventListener(type, listener) {
    this.listeners.set(type, listener);
  }

  close() {
    this.closed = true;
  }

  /**
   * @param {string} type
   * @param {unknown} [data]
   */
  send(type, data) {
    this.listeners.get(type)?.({ data: JSON.stringify(data) });
  }
}

/**
 * @param {number} episodes
 * @param {number} stored events the server has at first
 */
async function begun(episodes, stored) {
  const world = new World(wholeRun(episodes));
  world.stored = stored;
  world.feed.resume();
  await world.settle();
  return world;
}

test("stored events are read page by page before the stream opens after the last of them", async () => {
  const stored = 2 * PAGE_SIZE + 400;
  const world = await begun(stored + 100, stored);
  assert.deepEqual(
    world.asked.map((url) => url.split("after=")[1]),
    [0, PAGE_SIZE, 2 * PAGE_SIZE].map((after) => `${after}&limit=${PAGE_SIZE}`),
  );
  assert.equal(world.state.lastSeq, stored);
  assert.equal(world.stream.url, `events?after=${stored}`);
  assert.equal(world.openStreams.length, 1);
});

test("a run that has ended is read without any stream", async () => {
  const world = new World(wholeRun(5));
  world.status = "failed";
  world.error = "nothing fits";
  world.feed.resume();
  await world.settle();
  assert.equal(world.streams.length, 0);
  assert.equal(world.connection, "ended");
  assert.equal(world.state.status, "failed");
  assert.equal(world.state.error, "nothing fits");
});

test("what the stream brings is applied, and its end is looked up", async () => {
  const world = await begun(10, 5);
  world.stream.send("open");
  assert.equal(world.connection, "live");
  world.stream.send("events", world.events.slice(5));
  assert.equal(world.state.lastSeq, 13);
  world.stored = 13;
  world.status = "done";
  world.stream.send("status", { status: "done", error: "" });
  await world.settle();
  assert.equal(world.state.status, "done");
  assert.equal(world.connection, "ended");
  assert.equal(world.openStreams.length, 0);
  assert.equal(world.timers.size, 0);
});

test("a state that is not a last one is applied, and the stream goes on", async () => {
  const world = await begun(10, 5);
  world.status = "queued";
  world.stream.send("status", { status: "queued", error: "" });
  assert.equal(world.state.status, "queued", "given back");
  assert.equal(world.connection, "live");
  assert.equal(world.openStreams.length, 1);
  assert.equal(world.timers.size, 0);
});

test("a gap in the stream is fetched", async () => {
  const world = await begun(10, 4);
  world.stored = 9;
  world.stream.send("events", world.events.slice(6, 9));
  assert.equal(world.state.missing, true);
  await world.settle();
  assert.equal(world.state.lastSeq, 9);
  assert.equal(world.state.missing, false);
  assert.equal(world.openStreams.length, 1);
  assert.deepEqual(world.state.episodes.whole().map(({ episode }) => episode), [1, 2, 3, 4, 5, 6, 7]);
});

test("a lost stream is opened again after the last number, and waits longer each time", async () => {
  const world = await begun(10, 4);
  world.stream.send("events", world.events.slice(4, 6));
  world.stream.send("error");
  assert.equal(world.connection, "reconnecting");
  assert.equal(world.openStreams.length, 0);
  const first = await world.tick();
  assert.equal(world.stream.url, "events?after=6");
  world.stream.send("error");
  assert.ok((await world.tick()) > first);
});

test("after three failures in a row it polls, and tries the stream again later", async () => {
  const world = await begun(10, 4);
  for (let failure = 0; failure < 3; failure += 1) {
    world.stream.send("error");
    if (failure < 2) {
      await world.tick();
    }
  }
  await world.settle();
  assert.equal(world.connection, "polling");
  world.stored = 8;
  await world.tick();
  assert.equal(world.state.lastSeq, 8);
  const before = world.streams.length;
  for (let turn = 0; turn < 20 && world.streams.length === before; turn += 1) {
    await world.tick();
  }
  assert.equal(world.streams.length, before + 1);
});

test("events from the stream forgive earlier failures", async () => {
  const world = await begun(10, 4);
  for (const event of world.events.slice(4, 10)) {
    world.stream.send("error");
    await world.tick();
    world.stream.send("events", [event]);
  }
  assert.equal(world.connection, "live");
});

test("a hidden tab holds no stream and takes up after the last number when it is shown", async () => {
  const world = await begun(10, 4);
  world.hidden = true;
  world.feed.pause();
  assert.equal(world.openStreams.length, 0);
  assert.equal(world.connection, "paused");
  world.hidden = false;
  world.stored = 7;
  world.feed.resume();
  await world.settle();
  assert.equal(world.stream.url, "events?after=7");
  assert.equal(world.openStreams.length, 1);
});

test("a tab that is hidden from the start asks for nothing", async () => {
  const world = new World(wholeRun(3));
  world.hidden = true;
  world.feed.resume();
  await world.settle();
  assert.deepEqual(world.asked, []);
  assert.equal(world.connection, "paused");
});

test("hidden while pages are read: no stream opens afterwards", async () => {
  const world = new World(wholeRun(3));
  world.feed.resume();
  world.feed.pause();
  await world.settle();
  assert.equal(world.streams.length, 0);
});

test("a late message of a closed stream is ignored", async () => {
  const world = await begun(10, 4);
  const old = world.stream;
  old.send("error");
  await world.tick();
  old.send("events", world.events.slice(4, 6));
  old.send("error");
  assert.equal(world.state.lastSeq, 4);
  assert.equal(world.openStreams.length, 1);
});

test("a server that does not answer is asked again until it does", async () => {
  const world = new World(wholeRun(4));
  world.stored = 4;
  world.broken = true;
  world.feed.resume();
  await world.settle();
  assert.equal(world.connection, "reconnecting");
  await world.tick();
  assert.equal(world.connection, "unreachable");
  await world.tick();
  assert.equal(world.connections.filter((connection) => connection === "unreachable").length, 1, "reported once");
  world.broken = false;
  await world.tick();
  assert.equal(world.state.lastSeq, 4);
});

test("a run that was deleted is asked for no more", async () => {
  const world = await begun(4, 2);
  world.gone = true;
  world.stream.send("status", { status: "deleted", error: "This run has been deleted." });
  await world.settle();
  assert.equal(world.connection, "gone");
  assert.equal(world.timers.size, 0);
  world.feed.resume();
  await world.settle();
  assert.equal(world.openStreams.length, 0);
});

test("a page shows an outage and a deletion, but not a reopened stream", () => {
  const words = ["live", "reconnecting", "polling", "unreachable", "gone"].map((connection) =>
    connectionWords(/** @type {import("../../frontend/js/jobs/job-feed.js").Connection} */ (connection), "policy"),
  );
  assert.deepEqual(words, ["", "", "", "The server cannot be reached, trying again…", "This policy has been deleted."]);
});

test("over any sequence of failures and pauses there is never more than one stream", async () => {
  const world = await begun(200, 2);
  const acts = [
    () => world.stream.send("error"),
    () => world.feed.pause(),
    () => world.feed.resume(),
    () => world.stream.send("events", world.events.slice(world.state.lastSeq, world.stored)),
    () => (world.broken = !world.broken),
  ];
  let chance = 7;
  for (let turn = 0; turn < 400; turn += 1) {
    chance = (chance * 1103515245 + 12345) % 2147483648;
    world.stored = Math.min(world.events.length, world.stored + (chance % 3));
    acts[chance % acts.length]();
    if (chance % 2) {
      await world.settle();
    }
    if (world.timers.size === 1 && chance % 3) {
      await world.tick();
    }
    assert.ok(world.openStreams.length <= 1, `turn ${turn}`);
  }
  world.broken = false;
  world.stored = world.events.length;
  world.status = "done";
  world.feed.resume();
  for (let turn = 0; turn < 10 && world.connection !== "ended"; turn += 1) {
    await world.settle();
    if (world.timers.size > 0) {
      await world.tick();
    }
  }
  assert.equal(world.connection, "ended");
  const once = reduce(initialState(), { type: "events", events: world.events });
  assert.deepEqual(world.state.episodes, once.episodes);
});

for (const seed of [1, 2, 3, 4, 5]) {
  test(`3,000 events under random reconnects, repeats and gaps: the page holds what is stored (seed ${seed})`, async () => {
    const world = await begun(3000, 2);
    let chance = seed;
    const draw = (/** @type {number} */ below) => {
      chance = (chance * 1103515245 + 12345) % 2147483648;
      return Math.floor((chance / 2147483648) * below);
    };
    const acts = [
      () => world.stream.send("error"),
      () => world.feed.pause(),
      () => world.feed.resume(),
      () => (world.broken = draw(3) === 0),
      () => world.stream.send("events", world.events.slice(world.state.lastSeq, world.stored)),
      () => world.stream.send("events", world.events.slice(Math.max(0, world.state.lastSeq - draw(40)), world.stored)),
      () => world.stream.send("events", world.events.slice(world.state.lastSeq + draw(40), world.stored)),
    ];
    for (let turn = 0; turn < 600; turn += 1) {
      world.stored = Math.min(world.events.length, world.stored + draw(11));
      acts[draw(acts.length)]();
      if (draw(2)) {
        await world.settle();
      }
      if (world.timers.size === 1 && draw(3)) {
        await world.tick();
      }
    }
    world.broken = false;
    world.stored = world.events.length;
    world.status = "done";
    world.feed.resume();
    for (let turn = 0; turn < 20 && world.connection !== "ended"; turn += 1) {
      await world.settle();
      world.openStreams.at(-1)?.send("status", { status: "done", error: "" }); // as a server does for each stream
      if (world.timers.size > 0) {
        await world.tick();
      }
    }
    assert.equal(world.connection, "ended");
    const once = reduce(initialState("done"), { type: "events", events: world.events, whole: true });
    assert.equal(world.state.episodes.length, 3000);
    assert.deepEqual({ ...world.state, episodes: world.state.episodes.whole() }, { ...once, episodes: once.episodes.whole() });
  });
}
