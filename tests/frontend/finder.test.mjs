import assert from "node:assert/strict";
import { test } from "node:test";

import { findNames, groupsOfLayer, layersOf } from "../../frontend/js/step/finder.js";

/** @param {string[]} names */
const all = (...names) => names.map((name, index) => ({ kind: /** @type {const} */ ("op"), index, name, whole: `root/${name}` }));
const NAMES = all("block_1/attention/query", "block_1/attention", "attention", "my_attention", "block_2/Attention/key");

/** @param {string} text */
const found = (text, most = 9) => findNames(NAMES, text, most).first.map(({ name }) => name);

test("equal names come first, then those of which a part begins with the text, the shorter ones first", () => {
  assert.deepEqual(found("attention"), ["attention", "block_1/attention", "block_2/Attention/key", "block_1/attention/query", "my_attention"]);
});

test("the name in the file finds too, and case does not matter", () => {
  assert.deepEqual(found("ROOT/attention"), ["attention"]);
});

test("more than are listed are counted; nothing is found by nothing", () => {
  assert.deepEqual(findNames(NAMES, "attention", 2).count, 5);
  assert.equal(found("attention", 2).length, 2);
  assert.deepEqual(findNames(NAMES, "  ", 2), { first: [], count: 0 });
});

test("the layers are what stands before a slash, each once", () => {
  assert.deepEqual(layersOf(["a/b/x", "a/b/y", "a/z", "w"]).sort(), ["a", "a/b"]);
});

test("a layer has the groups that lie in it for the most part, else those that touch it", () => {
  const names = ["a/x", "a/y", "b/x", "b/y", "b/z", "a/b/q"];
  const groups = [0, 1, 1, 1, 2, 2];
  assert.deepEqual(groupsOfLayer("a", { names, whole: names, groups }), [0]);
  assert.deepEqual(groupsOfLayer("b", { names, whole: names, groups }), [1]);
  assert.deepEqual(groupsOfLayer("a/b", { names, whole: names, groups }), [2], "half of a group is all there is of it");
});
