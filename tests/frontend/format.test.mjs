import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as format from "../../frontend/js/ui/format.js";

const SHARED = JSON.parse(readFileSync(new URL("../number_words.json", import.meta.url), "utf8"));

/** @type {[string, string][]} */
const CASES = [
  ...Object.entries(/** @type {Record<string, [number, string][]>} */ (SHARED)).flatMap(([names, cases]) => {
    const written = /** @type {Record<string, (value: number) => string>} */ (/** @type {unknown} */ (format))[names.split(" ")[0]];
    return cases.map(([value, words]) => /** @type {[string, string]} */ ([written(value), words]));
  }),
  [format.formatTime(1_243_456, 4), "1.243 s"],
  [format.formatTime(null), "–"],
  [format.formatTime(NaN), "–"],
  [format.formatTime(Infinity), "–"],
  [format.formatBytes(undefined), "–"],
  [format.formatFlops(null), "–"],
  [format.formatPercent(null), "–"],
  [format.formatGap(undefined), "–"],
  [format.formatCount(10_061), "10,061"],
  [format.formatCount(null), "–"],
  [format.counted(1, "group"), "1 group"],
  [format.counted(128, "group"), "128 groups"],
  [format.formatShare(0.784), "78 %"],
  [format.formatShare(0.001), "< 1 %"],
  [format.formatShare(0), "0 %"],
  [format.formatPercent(null), "–"],
  [format.formatGap(undefined), "–"],
  [format.formatDuration(0.42), "0.4 s"],
  [format.formatDuration(8), "8.0 s"],
  [format.formatDuration(59.6), "1 min 00 s"],
  [format.formatDuration(125), "2 min 05 s"],
  [format.formatDuration(3840), "1 h 04 min"],
  [format.formatDuration(7199.9), "2 h 00 min"],
  [format.formatDuration(-1), "–"],
  [format.formatEstimate(1), "< 5 s"],
  [format.formatEstimate(37), "≈ 40 s"],
  [format.formatEstimate(170), "≈ 3 min"],
  [format.formatEstimate(7300), "≈ 2 h 00 min"],
  [format.formatEstimate(null), "–"],
];

test("numbers for people", () => {
  for (const [got, wanted] of CASES) {
    assert.equal(got, wanted);
  }
});

test("a name is cut, never interpreted", () => {
  assert.equal(format.cutName("<img src=x onerror=alert(1)>"), "<img src=x onerror=alert(1)>");
  assert.equal([...format.cutName("x".repeat(1_000_000))].length, 120);
  assert.equal(format.cutName("ab😀cd".repeat(40), 11), "ab😀cd…ab😀cd");
});

test("characters that hide or turn text around are written out", () => {
  assert.equal(format.visible("evil\u202egnp.exe"), "evil\\u202egnp.exe");
  assert.equal(format.visible("a\nb\tc\u0000"), "a\\u000ab\\u0009c\\u0000");
  assert.equal(format.cutName("x/a\u2067b"), "x/a\\u2067b");
});

test("an age is in the largest whole unit, and ends after a week", () => {
  const ages = [-61, -3, 0, 59, 60, 3599, 3600, 86399, 86400, 6.99 * 86400, 7 * 86400, NaN];
  const words = ["", "just now", "just now", "just now", "1 min ago", "59 min ago", "1 h ago", "23 h ago", "1 day ago", "6 days ago", "", ""];
  assert.deepEqual(ages.map(format.formatAge), words);
});

test("the shares of one whole add up", () => {
  assert.deepEqual(format.formatShares([0.004, 0.996]), ["< 1 %", "> 99 %"]);
  assert.deepEqual(format.formatShares([0.006, 0.994]), ["1 %", "99 %"]);
  assert.deepEqual(format.formatShares([0.495, 0.505]), ["50 %", "50 %"]);
  assert.deepEqual(format.formatShares([0, 1]), ["0 %", "100 %"]);
  assert.deepEqual(format.formatShares([]), []);
  const thirds = format.formatShares([1 / 3, 1 / 3, 1 / 3]).map(parseFloat);
  assert.equal(thirds.reduce((sum, percent) => sum + percent), 100);
});
