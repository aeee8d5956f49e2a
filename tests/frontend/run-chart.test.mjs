import assert from "node:assert/strict";
import { test } from "node:test";
import { chartModel, episodeRange, nearestEpisode, shownPart } from "../../frontend/js/chart/run-chart-model.js";
import { changes, distinctPoints, envelope, runningMean } from "../../frontend/js/chart/decimate.js";
import { initialState, reduce } from "../../frontend/js/run/run-state.js";
import { linearScale, linearTicks, logScale, logTicks, niceStep, roomFor, roundedUp } from "../../frontend/js/chart/scale.js";
import { baseline, episode, started } from "./events.mjs";

const LABELS = { single_device: "Single device" };

/**
 * @param {number[]} times
 * @param {Record<string, number | null>} baselines
 */
function stateWith(times, baselines = {}) {
  const events = [started(1), ...Object.entries(baselines).map(([method, time], index) => baseline(index + 2, method, time))];
  const from = events.length + 1;
  let best = Infinity;
  const episodes = times.map((time, index) => {
    best = Math.min(best, time);
    return episode(from + index, { episode: index + 1, step_time_us: time, best_step_time_us: best });
  });
  return reduce(initialState(), { type: "events", events: [...events, ...episodes] });
}

/**
 * @param {import("../../frontend/js/chart/run-chart-model.js").ChartModel | null} model
 * @param {string} key
 */
function placeOf(model, key) {
  return model?.lines.find((line) => line.key === key)?.place;
}

test("a scale maps its ends to the ends, and back", () => {
  for (const scale of [linearScale([2, 10], [100, 20]), logScale([2, 10], [100, 20])]) {
    assert.ok(Math.abs(scale.toPixel(2) - 100) < 1e-9);
    assert.ok(Math.abs(scale.toPixel(10) - 20) < 1e-9);
    for (const value of [2, 3.3, 9.99]) {
      assert.ok(Math.abs(scale.toValue(scale.toPixel(value)) - value) < 1e-9);
    }
  }
  assert.equal(linearScale([5, 5], [0, 100]).toPixel(5), 0);
});

test("ticks are round, within the domain, and not more than asked for", () => {
  assert.deepEqual(linearTicks([0, 10], 5), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(linearTicks([0.13, 0.41], 3).map((tick) => tick.toFixed(2)), ["0.20", "0.30", "0.40"]);
  assert.deepEqual(linearTicks([7, 7], 5), [7]);
  assert.deepEqual(linearTicks([0.7, 1.35], 1).length, 3, "one tick would show no scale");
  for (const [low, high] of [[0, 1], [3, 3.001], [1e-7, 2e-7], [12, 98765]]) {
    const ticks = linearTicks([low, high], 6);
    assert.ok(ticks.length >= 2 && ticks.length <= 8, `${low} ${high}: ${ticks}`);
    assert.ok(ticks.every((tick) => tick >= low - 1e-9 && tick <= high * (1 + 1e-9)));
  }
  assert.equal(niceStep(100, 5), 20);
  assert.deepEqual(roundedUp([560, 731], 5), [560, 750]);
  assert.deepEqual(linearTicks(roundedUp([560, 731], 5), 5).at(-1), 750);
  assert.deepEqual(roundedUp([5, 5], 5), [5, 5]);
});

test("ticks of a log axis are powers of ten and their parts, thinned where there are many", () => {
  assert.deepEqual(logTicks([1, 100], 8), [1, 2, 5, 10, 20, 50, 100]);
  assert.deepEqual(logTicks([1, 1e6], 8), [1, 10, 100, 1e3, 1e4, 1e5, 1e6]);
  assert.deepEqual(logTicks([4, 120], 2), [10, 100]);
  assert.ok(logTicks([1e-3, 1e9], 6).length <= 6);
  assert.ok(logTicks([1.1, 1.4], 5).length >= 2);
  assert.deepEqual(logTicks([3, 200], 3), [10, 100], "few, but at equal distances");
});

test("room along the x axis grows in steps and never falls short", () => {
  let previous = 0;
  let steps = 0;
  for (let count = 0; count <= 20_000; count += 7) {
    const room = roomFor(count);
    assert.ok(room >= count && room >= previous);
    steps += room > previous ? 1 : 0;
    previous = room;
  }
  assert.ok(steps < 40, `${steps}`);
});

test("the range takes in the episodes and the lines near them, not what dwarfs them", () => {
  const model = chartModel(stateWith([1000, 1100, 1200], { single_device: 1500, cpu_only: 12_000, random: 1300 }), false, LABELS);
  assert.ok(model && model.rangeUs[0] <= 1000 && model.rangeUs[1] >= 1500 && model.rangeUs[1] < 3000);
  assert.equal(placeOf(model, "single_device"), "inside");
  assert.equal(placeOf(model, "cpu_only"), "above");
  assert.equal(placeOf(model, "lower_bound"), "below");
});

test("lines are left at the edge where they would squeeze the episodes", () => {
  const model = chartModel(stateWith([670, 1100, 1380], { single_device: 731, cpu_only: 2570, random: 1470 }), false, LABELS);
  assert.deepEqual(
    model?.lines.map(({ key, place }) => [key, place]),
    [
      ["single_device", "inside"],
      ["cpu_only", "above"],
      ["random", "inside"],
      ["lower_bound", "below"],
    ],
  );
});

test("a log axis shows every line", () => {
  const model = chartModel(stateWith([1000, 1200], { single_device: 1500, cpu_only: 120_000 }), true, LABELS);
  assert.deepEqual(model?.lines.map(({ place }) => place), ["inside", "inside", "inside"]);
});

test("a few hopeless episodes do not flatten the rest; they are counted as above", () => {
  const times = [...Array.from({ length: 200 }, (_, index) => 1000 + index), 90_000, 95_000];
  const model = chartModel(stateWith(times), false, LABELS);
  assert.ok(model && model.rangeUs[1] < 2000);
  assert.equal(model.above, 2);
  assert.equal(chartModel(stateWith(times), true, LABELS)?.above, 0);
});

test("one episode, equal episodes and a zero are charts too", () => {
  for (const times of [[1000], [1000, 1000, 1000], [0, 1000]]) {
    const model = chartModel(stateWith(times), false, LABELS);
    assert.ok(model && model.rangeUs[0] < model.rangeUs[1] && model.rangeUs[0] >= 0, `${times}`);
  }
});

test("nothing to show is null; baselines alone are something", () => {
  assert.equal(chartModel(initialState(), false, LABELS), null);
  assert.ok(chartModel(stateWith([], { single_device: 1000 }), false, LABELS));
  assert.equal(chartModel(stateWith([], { single_device: null }), false, LABELS), null);
});

test("a line has the label of its method, or its name where the server gave none", () => {
  const model = chartModel(stateWith([1000], { single_device: 1500, random: 1300 }), false, LABELS);
  assert.deepEqual(model?.lines.map(({ label }) => label), ["Single device", "random", "Lower bound"]);
});

test("decimation keeps every visibly different point, and no more than the pixels", () => {
  const items = Array.from({ length: 50_000 }, (_, index) => ({ x: index / 100, y: (index * 7919) % 300 }));
  const points = distinctPoints(items, ({ x }) => x, ({ y }) => y, 2);
  assert.ok(points.length <= 251 * 151);
  const cells = new Set(points.map(({ x, y }) => `${Math.round(x / 2)},${Math.round(y / 2)}`));
  for (const { x, y } of items) {
    assert.ok(cells.has(`${Math.round(x / 2)},${Math.round(y / 2)}`));
  }
  assert.equal(distinctPoints([{ x: 0 }, { x: 50 }, { x: 100 }], ({ x }) => x, () => 5).length, 3);
});

test("a line of steps needs only its changes", () => {
  const values = [null, 9, 9, 8, 8, 8, 3];
  assert.deepEqual(changes(values, (value) => value), [
    { index: 1, value: 9 },
    { index: 3, value: 8 },
    { index: 6, value: 3 },
  ]);
});

test("the running mean equals the mean of the last values", () => {
  const values = Array.from({ length: 300 }, (_, index) => (index * 31) % 17);
  runningMean(values, 50).forEach((mean, index) => {
    const window = values.slice(Math.max(0, index - 49), index + 1);
    assert.ok(Math.abs(mean - window.reduce((sum, value) => sum + value, 0) / window.length) < 1e-9);
  });
});

test("the envelope keeps the least and the greatest of each column, in order", () => {
  const values = Array.from({ length: 10_000 }, (_, index) => Math.sin(index) * index);
  const points = envelope(values, 100);
  assert.ok(points.length <= 200);
  assert.ok(points.every((point, index) => index === 0 || point.index > points[index - 1].index));
  assert.equal(Math.max(...points.map(({ value }) => value)), Math.max(...values));
  assert.equal(Math.min(...points.map(({ value }) => value)), Math.min(...values));
  assert.equal(envelope([1, 2, 3], 100).length, 3);
});

test("the axis goes as far as the episodes' numbers, of which a search emits one in many", () => {
  assert.deepEqual(episodeRange([]), [1, 20]);
  const [low, high] = episodeRange([{ episode: 3 }, { episode: 480 }, { episode: 99_982 }]);
  assert.equal(low, 1);
  assert.ok(high >= 99_982 && high <= 125_000);
});

test("a zoom draws the episodes that it shows, and one on each side", () => {
  const episodes = [2, 3, 50, 51, 400].map((episode) => ({ episode }));
  assert.deepEqual(shownPart(episodes, [1, 1000]), [0, 5]);
  assert.deepEqual(shownPart(episodes, [10, 49]), [1, 3]);
  assert.deepEqual(shownPart(episodes, [50, 51]), [1, 4]);
  assert.deepEqual(shownPart(episodes, [500, 600]), [4, 5]);
  assert.deepEqual(shownPart([], [1, 20]), [0, 0]);
});

test("the range is that of the episodes shown, in the unit of the best of them", () => {
  const times = Array.from({ length: 100 }, (_, index) => 2_000_000 - index * 15_000);
  const state = stateWith(times);
  const [all, end] = [chartModel(state, false, LABELS), chartModel(state, false, LABELS, [90, 100])];
  assert.ok(all && end && all.rangeUs[1] >= 2_000_000 && end.rangeUs[1] < 1_000_000);
  assert.equal(all.bestUs, 515_000);
  assert.equal(chartModel(state, false, LABELS, [0, 10])?.bestUs, 1_865_000);
});

test("quantiles of many step times are those of a selection, and the ends of the range are exact", () => {
  const times = Array.from({ length: 20_000 }, (_, index) => 1000 + ((index * 7919) % 1000));
  times[12_345] = 998;
  const model = chartModel(stateWith(times), false, LABELS);
  assert.ok(model && model.rangeUs[0] < 998 && model.rangeUs[1] > 1999 && model.bestUs === 998);
});

test("the nearest episode is found by its number", () => {
  const episodes = [2, 3, 50, 51, 400].map((episode) => ({ episode }));
  assert.equal(nearestEpisode([], 7), -1);
  for (let number = -5; number < 500; number += 0.5) {
    const nearest = Math.min(...episodes.map(({ episode }) => Math.abs(episode - number)));
    assert.equal(Math.abs(episodes[nearestEpisode(episodes, number)].episode - number), nearest, `of ${number}`);
  }
});
