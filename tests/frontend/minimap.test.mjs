// The small picture of the whole graph: what it covers, and where its frame stands.
import assert from "node:assert/strict";
import { test } from "node:test";

import { boxOf, contains, seenBox, within } from "../../frontend/js/drawing/minimap.js";

const WHOLE = { left: 0, top: 0, width: 100, height: 50 };

test("it covers all nodes with their sizes", () => {
  const drawing = /** @type {any} */ ({ x: [10, 90], y: [5, 45], radii: [2, 4], room: 8 });
  assert.deepEqual(boxOf(drawing), { left: 6, top: 1, width: 90, height: 50 });
  const { width, height } = boxOf(/** @type {any} */ ({ x: [], y: [], radii: [], room: 8 }));
  assert.ok(width > 0 && height > 0, "a graph without a group has a box too");
});

test("the visible part follows pan and zoom", () => {
  assert.deepEqual(seenBox({ x: 0, y: 0, zoom: 1 }, 200, 100), { left: -0, top: -0, width: 200, height: 100 });
  assert.deepEqual(seenBox({ x: -40, y: 20, zoom: 2 }, 200, 100), { left: 20, top: -10, width: 100, height: 50 });
});

test("it is hidden only where the whole graph is visible", () => {
  assert.ok(contains(WHOLE, WHOLE));
  assert.ok(contains({ left: -1, top: -1, width: 102, height: 52 }, WHOLE));
  for (const seen of [{ ...WHOLE, left: 1 }, { ...WHOLE, top: 1 }, { ...WHOLE, width: 99 }, { ...WHOLE, height: 49 }]) {
    assert.ok(!contains(seen, WHOLE));
  }
});

test("the frame stays in the small picture, wherever the graph is moved", () => {
  assert.deepEqual(within({ left: -50, top: 25, width: 100, height: 10 }, WHOLE), { left: 0, top: 25, width: 50, height: 10 });
  assert.deepEqual(within({ left: 500, top: -500, width: 100, height: 10 }, WHOLE), { left: 100, top: 0, width: 0, height: 0 });
  let seed = 3;
  const below = (/** @type {number} */ most) => (seed = (seed * 1103515245 + 12345) % 2 ** 31) % most;
  for (let turn = 0; turn < 500; turn += 1) {
    const frame = within({ left: below(400) - 200, top: below(400) - 200, width: below(300), height: below(300) }, WHOLE);
    assert.ok(contains(WHOLE, frame) && frame.width >= 0 && frame.height >= 0);
  }
});
