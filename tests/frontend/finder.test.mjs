import assert from "node:assert/strict";
import { test } from "node:test";

import { findNames } from "../../frontend/js/step/finder.js";

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
