// The store of a page: who is told of which change, how often, and what it then sees.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Store } from "../../frontend/js/run/store.js";

const first = () => new Store({ colour: "device", groups: /** @type {readonly number[]} */ ([]), shown: "" });

test("a listener is told of the values that it asked for alone", () => {
  const store = first();
  /** @type {string[]} */
  const told = [];
  store.subscribe(["colour"], ({ colour }, before) => told.push(`${before.colour} → ${colour}`));
  store.set({ shown: "best" });
  store.set({ colour: "time" });
  assert.deepEqual(told, ["device → time"]);
});

test("a change of several values is told once, after all of them", () => {
  const store = first();
  /** @type {unknown[]} */
  const told = [];
  store.subscribe(["colour", "shown"], (state) => told.push([state.colour, state.shown]));
  store.set({ colour: "time", shown: "best" });
  assert.deepEqual(told, [["time", "best"]]);
});

test("the same value, and a list with the same items, is no change", () => {
  const store = first();
  let told = 0;
  store.subscribe(["colour", "groups"], () => (told += 1));
  store.set({ colour: "device", groups: [] });
  assert.equal(told, 0);
  store.set({ groups: [3, 7] });
  const { groups } = store.state;
  store.set({ groups: [3, 7] });
  assert.equal(told, 1);
  assert.equal(store.state.groups, groups);
  store.set({ groups: [7, 3] });
  assert.equal(told, 2);
});

test("what a listener changes is told to all after it, and each sees every change once", () => {
  const store = first();
  /** @type {string[]} */
  const told = [];
  store.subscribe(["shown"], ({ shown }, before) => told.push(`first: ${before.shown} → ${shown}`));
  store.subscribe(["colour"], () => store.set({ shown: "best" }));
  store.subscribe(["colour", "shown"], ({ colour, shown }) => told.push(`last: ${colour} ${shown}`));
  store.set({ colour: "time" });
  assert.deepEqual(told, ["first:  → best", "last: time best"]);
});

test("who comes later is not told of what was before, and who has left of nothing", () => {
  const store = first();
  store.set({ colour: "time" });
  let told = 0;
  const leave = store.subscribe(["colour"], () => (told += 1));
  assert.equal(told, 0);
  leave();
  store.set({ colour: "bytes" });
  assert.equal(told, 0);
});

test("a listener that fails keeps no other one from the news, and the fault is thrown all the same", async () => {
  const store = first();
  let told = "";
  const listeners = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  const thrown = new Promise((resolve) => process.once("uncaughtException", resolve));
  store.subscribe(["colour"], () => {
    throw new Error("broken panel");
  });
  store.subscribe(["colour"], ({ colour }) => (told = colour));
  store.set({ colour: "time" });
  assert.equal(told, "time");
  assert.match(String(await thrown), /broken panel/);
  listeners.forEach((listener) => process.on("uncaughtException", listener));
});

test("a state cannot be changed but by the store", () => {
  const store = first();
  assert.throws(() => Object.assign(store.state, { colour: "time" }), TypeError);
});
