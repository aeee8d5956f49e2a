import assert from "node:assert/strict";
import { test } from "node:test";
import { deviceLooks, shapePoints } from "../../frontend/js/graph/devices.js";
import { geometry, topView, wholeView } from "../../frontend/js/graph/graph-geometry.js";
import { orderGroups } from "../../frontend/js/graph/group-order.js";
import { crossing, crossingWords, differences, loads, timeOfKind } from "../../frontend/js/graph/placement.js";

/**
 * @param {number} id
 * @param {Partial<import("../../frontend/js/ui/contracts.js").Group>} [fields]
 * @returns {import("../../frontend/js/ui/contracts.js").Group}
 */
function group(id, fields = {}) {
  return {
    id,
    name: `group_${id}`,
    ops: id + 1,
    types: [["Conv2D", 1]],
    time_us: { K80: 10 * (id + 1), CPU: 100 },
    output_bytes: 1000,
    persistent_bytes: 10,
    x: id * 50,
    y: id * 40,
    ...fields,
  };
}

/**
 * @param {string} name
 * @param {string} kind
 * @returns {import("../../frontend/js/ui/contracts.js").Device}
 */
function device(name, kind) {
  return { name, kind, class: kind === "CPU" ? "CPU" : "GPU", memory_bytes: 1 };
}

const DEVICES = [device("/device:GPU:0", "K80"), device("/device:GPU:1", "K80"), device("/device:CPU:0", "CPU")];

test("only groups whose device differs are reported", () => {
  assert.deepEqual(differences(Uint8Array.of(0, 1, 1, 0), Uint8Array.of(0, 0, 1, 1), 4), [1, 3]);
  assert.deepEqual(differences(null, Uint8Array.of(0, 0), 2), [0, 1]);
  assert.deepEqual(differences(Uint8Array.of(0, 1), Uint8Array.of(0, 1), 2), []);
});

test("what each device gets adds up to the whole", () => {
  const groups = [group(0), group(1), group(2)];
  const shares = loads(groups, DEVICES, Uint8Array.of(0, 2, 0));
  assert.deepEqual(shares[0], { groups: 2, parts: 0, timeUs: 40 });
  assert.deepEqual(shares[1], { groups: 0, parts: 0, timeUs: 0 });
  assert.equal(shares[2].timeUs, 100);
  const parts = new Map([[1, [0, 2].map((on) => ({ device: on, ops: 1, timeUs: 7 }))]]);
  assert.deepEqual(loads(groups, DEVICES, Int16Array.of(0, -1, 0), parts).map(({ parts: count, timeUs }) => [count, timeUs]), [[1, 47], [0, 0], [1, 7]]);
});

test("edges between devices are counted with their bytes", () => {
  const edges = [
    { source: 0, target: 1, bytes: 5 },
    { source: 1, target: 2, bytes: 7 },
  ];
  assert.deepEqual(crossing(edges, Uint8Array.of(0, 0, 1)), { edges: 1, bytes: 7 });
  assert.match(crossingWords(edges, Uint8Array.of(0, 0, 1), null), /^1 of 2 edges cross devices/);
  assert.equal(crossingWords(edges, Int16Array.of(0, -1, 1), null), "", "what a split group cuts is not known before the step");
  assert.equal(crossingWords(edges, Int16Array.of(0, -1, 1), [{ bytes: 2048 }, { bytes: 0 }]), "1 group on several devices; 2 edges between ops cross devices (2.00 KiB).");
});

test("64 devices look different from their neighbours, by shape and by colour, and have names", () => {
  const many = Array.from({ length: 64 }, (_, index) => device(`/device:GPU:${index}`, "K80"));
  const looks = deviceLooks(many);
  assert.equal(new Set(looks.slice(0, 56).map(({ colour, shape }) => `${colour} ${shape}`)).size, 56);
  looks.slice(1).forEach((look, index) => {
    assert.notEqual(look.colour, looks[index].colour);
    assert.notEqual(look.shape, looks[index].shape);
  });
  assert.equal(looks[7].label, "GPU 7");
  assert.equal(new Set(looks.map(({ label }) => label)).size, 64);
});

test("a CPU beside others is a grey rectangle, CPUs by themselves have colours; short names that would be alike are not short", () => {
  const [gpu, , cpu] = deviceLooks(DEVICES);
  assert.equal(cpu.shape, "rectangle");
  assert.notEqual(cpu.colour, gpu.colour);
  assert.deepEqual(deviceLooks([device("/device:CPU:0", "CPU")])[0].colour, gpu.colour);
  const hosts = deviceLooks([
    device("/job:worker/task:0/device:GPU:0", "K80"),
    device("/job:worker/task:1/device:GPU:0", "K80"),
  ]);
  assert.deepEqual(
    hosts.map(({ label }) => label),
    ["/job:worker/task:0/device:GPU:0", "/job:worker/task:1/device:GPU:0"],
  );
});

test("every shape can be drawn", () => {
  for (const { shape } of deviceLooks(Array.from({ length: 20 }, (_, index) => device(`d${index}`, "K80")))) {
    const points = shapePoints(shape);
    assert.ok(shape === "ellipse" ? points === null : /^[-\d., ]+$/.test(String(points)), shape);
  }
});

test("groups and edges are drawn within the room between neighbours", () => {
  const groups = [group(0), group(1, { x: 0, y: 40 }), group(2, { x: 60, y: 40 })];
  const strips = [{ left: -20, right: 80, leads_up: false }];
  const graph = { groups, edges: [{ source: 0, target: 1, bytes: 10 }], width: 100, height: 100, across: 60, down: 40, strips };
  const { x, room, radii, edges } = geometry(graph, 3);
  assert.ok(x[2] > 60 && room <= 40, "stretched sideways");
  assert.ok(radii.every((radius) => radius > 0 && radius < room * 0.65));
  assert.ok(radii[2] >= radii[0]);
  assert.deepEqual([edges[0].bendX, edges[0].bendY], [0, 20], "straight");
});

test("one group, and groups in one line, have a geometry too", () => {
  for (const groups of [[group(0)], [group(0, { x: 0 }), group(1, { x: 0 })], [group(0, { time_us: {} })]]) {
    const { room, radii } = geometry({ groups, edges: [], width: 0, height: 0, across: 96, down: 64, strips: [] }, 1);
    assert.ok(room > 0 && radii.every((radius) => Number.isFinite(radius) && radius > 0));
  }
});

test("the whole drawing fits in the middle of its place, and its top under the padding", () => {
  const groups = [group(0), group(1, { x: 300, y: 900 }), group(2, { x: -60, y: 40 })];
  const drawing = geometry({ groups, edges: [], width: 360, height: 900, across: 60, down: 40, strips: [] }, 1);
  const size = { width: 800, height: 500 };
  const { zoom, pan } = wholeView(drawing, size, 24, [0.02, 6]);
  const edge = (/** @type {1 | -1} */ side, /** @type {"x" | "y"} */ axis) =>
    [...drawing[axis]].map((place, node) => pan[axis] + zoom * (place + side * drawing.radii[node])).sort((one, other) => side * (other - one))[0];
  const [left, right, top, bottom] = [edge(-1, "x"), edge(1, "x"), edge(-1, "y"), edge(1, "y")];
  assert.ok(left >= 23.9 && right <= 776.1 && top >= 23.9 && bottom <= 476.1);
  assert.ok(Math.min(left, top) < 24.1, "no smaller than it must be");
  assert.ok(Math.abs(left + right - 800) < 1e-6 && Math.abs(top + bottom - 500) < 1e-6, "in the middle");
  assert.equal(wholeView(drawing, size, 24, [0.02, 0.1]).zoom, 0.1);
  assert.equal(wholeView(drawing, { width: 0, height: 0 }, 24, [0.02, 6]).zoom, 0.02, "a place without a size");
  const first = topView(drawing, size, 24, 2);
  assert.ok(Math.abs(Math.min(...[...drawing.y].map((y, node) => first.pan.y + 2 * (y - drawing.radii[node]))) - 24) < 1e-6);
});

/** @param {Partial<Parameters<typeof orderGroups>[1]>} wish */
function ordered(wish) {
  const groups = [
    group(0, { name: "b/conv", ops: 5 }),
    group(1, { name: "a/pool", ops: 5, types: [["MaxPool", 2]] }),
    group(2, { name: "a/Conv_10", ops: 9 }),
    group(3, { name: "a/conv_9", ops: 1 }),
  ];
  const whole = { search: "", key: /** @type {const} */ ("index"), descending: false, deviceOf: () => 0, timeOf: () => 1 };
  return orderGroups(groups, { ...whole, ...wish }).map(({ id }) => id);
}

test("groups are found by every word, in names and types, whatever the case", () => {
  assert.deepEqual(ordered({ search: "CONV a/" }), [2, 3]);
  assert.deepEqual(ordered({ search: "maxpool" }), [1]);
  assert.deepEqual(ordered({ search: "  " }), [0, 1, 2, 3]);
  assert.deepEqual(ordered({ search: "[(" }), []);
});

test("equals stay in topological order, in both directions", () => {
  assert.deepEqual(ordered({ key: "ops", descending: true }), [2, 0, 1, 3]);
  assert.deepEqual(ordered({ key: "ops", descending: false }), [3, 0, 1, 2]);
  assert.deepEqual(ordered({ key: "name" }), [3, 2, 1, 0]);
  assert.deepEqual(ordered({ key: "time", descending: true }), [0, 1, 2, 3]);
});

test("a kind is found by its own name alone, whatever a file calls it", () => {
  assert.equal(timeOfKind(group(0), "K80"), 10);
  for (const kind of ["V100", "constructor", "__proto__"]) {
    assert.equal(timeOfKind(group(0), kind), null);
  }
});
