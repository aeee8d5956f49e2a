// The flat picture of all ops: what is seen, what is hit, how much detail; what is drawn into pixels.
import assert from "node:assert/strict";
import { test } from "node:test";

import { detailOf, edgeOpacity, edgeWidths, isEdgeSeen, NAMES_FROM, SHAPES_FROM } from "../../frontend/js/ops/detail.js";
import { drawDots, mixed, packed, square } from "../../frontend/js/ops/dots.js";
import { edgesByNode, FlatGraph, sizesOf, widthsOf } from "../../frontend/js/ops/flat-graph.js";
import { NodeGrid } from "../../frontend/js/ops/node-grid.js";
import { orderOps } from "../../frontend/js/ops/ops-list.js";
import { centred, fitted, panned, pixelAt, seen, zoomed } from "../../frontend/js/drawing/viewport.js";

const CANVAS = { width: 600, height: 400 };
const DRAWING = { width: 100, height: 50 };

/** Numbers between 0 and 1, the same ones every time. */
function* numbers() {
  for (let state = 17; ; ) {
    state = (state * 48271) % 2147483647;
    yield state / 2147483647;
  }
}

test("a fitted drawing is whole and in the middle", () => {
  const view = fitted(DRAWING, CANVAS);
  const { left, top, right, bottom } = seen(view, CANVAS);
  assert.ok(left < 0 && top < 0 && right > DRAWING.width && bottom > DRAWING.height);
  assert.ok(Math.abs(left + right - DRAWING.width) < 1e-9 && Math.abs(top + bottom - DRAWING.height) < 1e-9);
  assert.ok(fitted({ width: 0, height: 0 }, CANVAS).zoom <= 48, "one op is not blown up");
});

test("a zoom leaves the place under the pointer where it is", () => {
  const at = { x: 123, y: 45 };
  let view = fitted(DRAWING, CANVAS);
  const place = (/** @type {typeof view} */ { zoom: scale, x: left, y: top }) => [(at.x - left) / scale, (at.y - top) / scale];
  const before = place(view);
  for (const factor of [1.35, 1.35, 1 / 1.2]) {
    view = zoomed(view, factor, at, DRAWING, CANVAS);
    place(view).forEach((value, index) => assert.ok(Math.abs(value - before[index]) < 1e-9));
  }
});

test("however far one zooms or pans, some of the drawing stays", () => {
  let view = fitted(DRAWING, CANVAS);
  for (let turn = 0; turn < 100; turn += 1) {
    view = zoomed(view, 1.35, { x: 0, y: 0 }, DRAWING, CANVAS);
  }
  assert.ok(view.zoom <= 90);
  for (const [right, down] of [[1e6, 1e6], [-1e7, -1e7]]) {
    const box = seen(panned(view, right, down, DRAWING, CANVAS), CANVAS);
    assert.ok(box.left < DRAWING.width && box.right > 0 && box.top < DRAWING.height && box.bottom > 0);
  }
  for (let turn = 0; turn < 100; turn += 1) {
    view = zoomed(view, 1 / 1.35, { x: 0, y: 0 }, DRAWING, CANVAS);
  }
  assert.ok(view.zoom >= fitted(DRAWING, CANVAS).zoom / 2 - 1e-12);
});

test("a place is brought to the middle, close enough to read", () => {
  const view = centred(fitted(DRAWING, CANVAS), { x: 10, y: 20 }, 24, CANVAS);
  assert.deepEqual(pixelAt(view, { x: [10], y: [20] }, 0), { x: 300, y: 200 });
  assert.equal(view.zoom, 24);
  assert.equal(centred(view, { x: 0, y: 0 }, 3, CANVAS).zoom, 24, "a closer view stays");
});

test("the nearest node is found as by looking at all of them", () => {
  const random = numbers();
  const next = () => Number(random.next().value);
  const x = Float32Array.from({ length: 3000 }, () => next() * 100);
  const y = Float32Array.from({ length: 3000 }, () => next() * 50);
  const grid = new NodeGrid(x, y, 100, 50);
  for (let turn = 0; turn < 300; turn += 1) {
    const [toX, toY, reach] = [next() * 120 - 10, next() * 70 - 10, next() * 3];
    const away = Array.from(x, (_, node) => Math.hypot(x[node] - toX, y[node] - toY));
    const least = Math.min(...away);
    assert.equal(grid.nearest(toX, toY, reach), least < reach ? away.indexOf(least) : -1);
  }
  const found = new Set();
  grid.inBox({ left: 20, top: 10, right: 30, bottom: 20 }, (node) => found.add(node));
  for (let node = 0; node < x.length; node += 1) {
    const inside = x[node] >= 20 && x[node] <= 30 && y[node] >= 10 && y[node] <= 20;
    assert.ok(!inside || found.has(node));
  }
  assert.ok(found.size < 600, "far fewer than all");
});

test("a single node and nodes in one place are hit", () => {
  assert.equal(new NodeGrid([0], [0], 0, 0).nearest(0.2, 0, 0.5), 0);
  assert.equal(new NodeGrid([0], [0], 0, 0).nearest(0.6, 0, 0.5), -1);
});

test("detail grows with the zoom, and crowded edges are faint", () => {
  assert.deepEqual([1, SHAPES_FROM, NAMES_FROM].map(detailOf), ["dots", "shapes", "names"]);
  const opacities = [0, 0.5, 1, 5, 20, 1e9].map(edgeOpacity);
  assert.deepEqual(opacities, [...opacities].sort((one, other) => other - one));
  assert.ok(opacities[0] <= 1 && opacities[5] > 0);
  assert.deepEqual(edgeWidths(1), [1, 1, 1]);
  const box = { left: 0, top: 0, right: 10, bottom: 10 };
  assert.ok(isEdgeSeen(box, 5, 5, 100, 100) && isEdgeSeen(box, -9, -9, 0, 10) && !isEdgeSeen(box, -1, 5, 11, 5));
});

test("squares are cut at the borders of the canvas", () => {
  const pixels = { data: new Uint32Array(4 * 3), width: 4, height: 3 };
  square(pixels, 0, 0, 2, 7);
  square(pixels, 3.5, 2.5, 3, 9);
  square(pixels, -50, 1, 3, 5);
  assert.deepEqual([...pixels.data], [7, 0, 0, 0, 0, 0, 9, 9, 0, 0, 9, 9]);
});

test("a dot has its group's colour where the view puts it, and at least a pixel", () => {
  const pixels = { data: new Uint32Array(10 * 10), width: 10, height: 10 };
  const dots = { x: [1, 4], y: [1, 4], sizes: [0.5, 0.5], colours: Uint32Array.of(9, 8) };
  drawDots(pixels, { zoom: 2, x: 0, y: 0 }, dots, (act) => [0, 1].forEach(act));
  assert.deepEqual([pixels.data[2 * 10 + 2], pixels.data[8 * 10 + 8]], [9, 8]);
  assert.equal(pixels.data.filter(Boolean).length, 2);
});

test("colours are packed as a canvas holds them", () => {
  assert.deepEqual([...new Uint8Array(Uint32Array.of(packed("#0a14ff")).buffer)], [10, 20, 255, 255]);
  assert.equal(mixed("#ff0000", "#0000ff", 0.25), "#4000bf");
});

/** @param {Record<string, [string, ArrayLike<number>]>} arrays */
function packedArrays(arrays) {
  const kinds = { F32: Float32Array, I32: Int32Array, F64: Float64Array };
  let length = 0;
  const blobs = [];
  /** @type {Record<string, unknown>} */
  const header = { __metadata__: { placeto: '{"version": 1, "of": "ops"}' } };
  for (const [name, [dtype, values]] of Object.entries(arrays)) {
    const bytes = new Uint8Array(kinds[/** @type {keyof typeof kinds} */ (dtype)].from(values).buffer);
    header[name] = { dtype, shape: [values.length], data_offsets: [length, length + bytes.length] };
    blobs.push(bytes);
    length += bytes.length;
  }
  const text = new TextEncoder().encode(JSON.stringify(header));
  const whole = new Uint8Array(8 + text.length + length);
  new DataView(whole.buffer).setBigUint64(0, BigInt(text.length), true);
  whole.set(text, 8);
  blobs.reduce((at, blob) => (whole.set(blob, at), at + blob.length), 8 + text.length);
  return whole.buffer;
}

test("a drawing is read from the server's bytes", () => {
  const graph = new FlatGraph(
    packedArrays({
      "node.x": ["F32", [0, 1, 2]],
      "node.y": ["F32", [0, 3, 1]],
      "node.group": ["I32", [1, 0, 1]],
      "node.time_us": ["F32", [4, 0, 1]],
      "edge.source": ["I32", [0, 0]],
      "edge.target": ["I32", [1, 2]],
      "edge.bytes": ["F64", [0, 1e9]],
    }),
  );
  assert.deepEqual([graph.count, graph.edgeCount, graph.width, graph.height], [3, 2, 2, 3]);
  assert.deepEqual([...graph.edgesOf(0)], [0, 1]);
  assert.deepEqual([...graph.edgesOf(2)], [1]);
  assert.deepEqual([...graph.widths], [0, 2]);
  assert.ok(graph.sizes[0] > graph.sizes[2] && graph.sizes[2] > graph.sizes[1]);
});

test("sizes and widths bear graphs without times or bytes", () => {
  assert.equal(new Set(sizesOf([0, 0])).size, 1);
  assert.ok(sizesOf([0, 0]).every((size) => size > 0 && size < 1));
  assert.deepEqual([...widthsOf([0, 0])], [0, 0]);
  assert.deepEqual([...edgesByNode(2, [], []).first], [0, 0, 0]);
});

test("ops are found by all words of a search and sorted, equal ones in the order of the file", () => {
  const ops = { names: ["b/conv", "a/CONV", "__proto__", "a/relu"], types: ["Conv2D", "Conv2D", "<b>", "Relu"] };
  /** @param {Partial<import("../../frontend/js/ops/ops-list.js").Wish>} wish */
  const order = (wish) => [...orderOps(ops, { search: "", key: "index", descending: false, ...wish })];
  assert.deepEqual(order({}), [0, 1, 2, 3]);
  assert.deepEqual(order({ search: "conv a/" }), [1]);
  assert.deepEqual(order({ search: "__proto__" }), [2]);
  assert.deepEqual(order({ search: "nothing" }), []);
  assert.deepEqual(order({ key: "type" }), [2, 0, 1, 3]);
  assert.deepEqual(order({ key: "name", descending: true }), [0, 3, 1, 2]);
});

test("ops are found by their names in the file and by those that are shown, which sort them", () => {
  const ops = { names: ["call/net/b/x", "call/net/a/y"], short_names: ["b/x", "a/y"], types: ["", ""] };
  /** @param {Partial<import("../../frontend/js/ops/ops-list.js").Wish>} wish */
  const order = (wish) => [...orderOps(ops, { search: "", key: "index", descending: false, ...wish })];
  assert.deepEqual([order({ search: "net/a" }), order({ search: "a/y" }), order({ key: "name" })], [[1], [1], [1, 0]]);
});
