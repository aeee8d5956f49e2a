// The band over seeds, apart from the drawing.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bandOnEpisodes, bandWords, leastIn } from "../../frontend/js/chart/seed-band.js";

const BAND = { evaluations: [3, 10, 40, 100], median_us: [9, 8, 7, 6], low_us: [8, 7, 6, 5], high_us: [10, 9, 8, 7] };

test("a band of evaluations stands at the episodes that have used as many", () => {
  const episodes = [1, 5, 12, 12, 41].map((evaluations, index) => ({ episode: index + 1, evaluations }));
  assert.deepEqual(bandOnEpisodes(BAND, episodes), { numbers: [2, 3, 5], median_us: [9, 8, 7], low_us: [8, 7, 6], high_us: [10, 9, 8] });
  assert.deepEqual(bandOnEpisodes(BAND, []).numbers, []);
});

test("the range takes in the least of what is shown", () => {
  const episodes = [1, 5, 12, 50, 100].map((evaluations, index) => ({ episode: index + 1, evaluations }));
  const band = bandOnEpisodes(BAND, episodes);
  assert.deepEqual(leastIn(band, [1, 3]), [7]);
  assert.deepEqual(leastIn(band, [1, 5]), [5]);
  assert.deepEqual(leastIn(band, [30, 50]), []);
});

test("it says whose band it is, or what to do for one", () => {
  assert.match(bandWords({ seeds: [1], band: BAND }), /another seed/);
  assert.match(bandWords({ seeds: [0, 1, 4], band: BAND }), /3 seeds \(0, 1, 4\)/);
});
