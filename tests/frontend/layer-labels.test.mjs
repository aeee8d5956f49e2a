import assert from "node:assert/strict";
import { test } from "node:test";

import { drawLayers, layersWithPlaces } from "../../frontend/js/ops/layer-labels.js";

/** Two layers of five ops in a row each, one of them with a block of four, and ops that lie in no layer. */
const NAMES = [
  ...["a/x", "a/b/p", "a/b/q", "a/b/r", "a/b/s"],
  ...["c/1", "c/2", "c/3", "c/4", "c/5"],
  ...["free", "loose"],
];
const X = NAMES.map((_, op) => op);
const Y = NAMES.map(() => 0);

test("layers stand at the op in their middle, those with most ops first, with the ops of the layers in them", () => {
  assert.deepEqual(layersWithPlaces(NAMES, X, Y), [
    { name: "a", count: 5, x: 2, y: 0 },
    { name: "c", count: 5, x: 7, y: 0 },
    { name: "a/b", count: 4, x: 2, y: 0 },
  ]);
});

test("a layer around nearly all ops and one of few ops are left out", () => {
  const names = ["m/a/1", "m/a/2", "m/a/3", "m/a/4", "m/b/1", "m/b/2", "m/c/1"];
  assert.deepEqual(layersWithPlaces(names, names.map((_, op) => op), names.map(() => 0)).map(({ name }) => name), ["m/a"]);
});

test("places are those of a slow sum over the ops of each layer", () => {
  const chance = (/** @type {number} */ seed) => (Math.sin(seed * 12.9898) * 43758.5453) % 1;
  const names = Array.from({ length: 200 }, (_, op) => `l${Math.floor(Math.abs(chance(op)) * 4)}/m${op % 3}/op${op}`);
  const [x, y] = [names.map((_, op) => chance(op + 500)), names.map((_, op) => chance(op + 900))];
  for (const layer of layersWithPlaces(names, x, y)) {
    const ops = names.flatMap((name, op) => (name.startsWith(`${layer.name}/`) ? [op] : []));
    const mean = (/** @type {number[]} */ of) => ops.reduce((sum, op) => sum + of[op], 0) / ops.length;
    const away = (/** @type {number} */ op) => (x[op] - mean(x)) ** 2 + (y[op] - mean(y)) ** 2;
    assert.equal(layer.count, ops.length);
    assert.ok(Math.abs(Math.min(...ops.map(away)) - ((layer.x - mean(x)) ** 2 + (layer.y - mean(y)) ** 2)) < 1e-12);
  }
});

test("names that would lie on another, or outside, are not written; nearer, the smaller ones are", () => {
  const written = (/** @type {number} */ zoom) => {
    /** @type {string[]} */
    const words = [];
    const context = /** @type {any} */ ({ save() {}, restore() {}, strokeText() {}, fillText: (/** @type {string} */ text) => words.push(text), measureText: (/** @type {string} */ text) => ({ width: 6 * text.length }) });
    const layers = [{ name: "a", count: 9, x: 1, y: 1 }, { name: "a/b", count: 5, x: 2, y: 1 }, { name: "far", count: 4, x: 90, y: 1 }];
    drawLayers(context, layers, { zoom, x: 0, y: 0 }, { width: 200, height: 100 }, { text: "#000", halo: "#fff", font: "sans" });
    return words;
  };
  assert.deepEqual(written(2), ["a", "far"]);
  assert.deepEqual(written(40), ["a", "a/b"]);
});
