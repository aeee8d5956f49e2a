// What all charts have in common, as far as it needs no document.
import assert from "node:assert/strict";
import { test } from "node:test";
import { countAxis, heightOf, plotArea, spreadLabels, stepPath, stepTimeAxis } from "../../frontend/js/chart/chart-frame.js";
import { linearScale, logScale } from "../../frontend/js/chart/scale.js";

const AREA = plotArea(700, 366, 50, 150);

/**
 * @param {[number, number]} evaluations
 * @param {[number, number]} rangeUs
 */
function plot(evaluations, rangeUs) {
  return { ...AREA, x: logScale(evaluations, [AREA.left, AREA.right]), y: linearScale(rangeUs, [AREA.bottom, AREA.top]) };
}

test("the plot leaves room for the words around it", () => {
  assert.deepEqual(AREA, { left: 50, right: 550, top: 26, bottom: 326 });
});

test("all ticks of step times have one unit, and enough decimals to differ", () => {
  const axis = stepTimeAxis(plot([1, 10], [40_000, 41_000]), false);
  assert.equal(axis.title, "step time (ms)");
  assert.deepEqual(axis.ticks.map(axis.words), ["40.0", "40.2", "40.4", "40.6", "40.8", "41.0"]);
  const ofBest = stepTimeAxis(plot([1, 10], [600_000, 1_300_000]), false, 616_000);
  assert.equal(ofBest.title, "step time (ms)");
  assert.ok(ofBest.ticks.map(ofBest.words).includes("1,200"));
  const logarithmic = stepTimeAxis(plot([1, 10], [1_000, 1_000_000]), true);
  assert.equal(logarithmic.title, "step time (s), log scale");
  assert.deepEqual(logarithmic.ticks.map(logarithmic.words), ["0.001", "0.01", "0.1", "1"]);
});

test("counts have integer ticks alone", () => {
  const axis = countAxis(plot([1, 3], [1, 2]), "evaluations", true);
  assert.deepEqual(axis.ticks.map(axis.words), ["1", "2", "3"]);
});

test("what lies beyond the range stands at the edge", () => {
  const { top, bottom } = AREA;
  assert.deepEqual([5, 15, 25].map((value) => heightOf(plot([1, 10], [10, 20]), value)), [bottom, (top + bottom) / 2, top]);
});

test("a path of steps keeps each value until the next", () => {
  assert.equal(stepPath([[0, 1], [10.04, 2], [20, 3.26]]), "M0,1H10V2H20V3.3");
  assert.equal(stepPath([[4, 5]]), "M4,5");
});

test("labels never cover each other and stay within the bounds where they fit", () => {
  const placed = spreadLabels([50, 52, 51, 200, 199], 16, [0, 205]);
  const ordered = [...placed].sort((one, other) => one - other);
  ordered.slice(1).forEach((place, index) => assert.ok(place - ordered[index] >= 16 - 1e-9));
  assert.ok(ordered[0] >= 0 && ordered[4] <= 205);
  assert.deepEqual(spreadLabels([30, 90], 16, [0, 100]), [30, 90]);
});
