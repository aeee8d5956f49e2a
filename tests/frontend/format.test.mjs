import assert from "node:assert/strict";
import { test } from "node:test";
import * as format from "../../frontend/js/ui/format.js";

/** @type {[string, string][]} */
const CASES = [
  [format.formatTime(0), "0 µs"],
  [format.formatTime(0.5), "0.50 µs"],
  [format.formatTime(842), "842 µs"],
  [format.formatTime(999.9), "1.00 ms"],
  [format.formatTime(12_340), "12.3 ms"],
  [format.formatTime(1_280_000), "1.28 s"],
  [format.formatTime(125_000_000), "125 s"],
  [format.formatTime(1_243_456, 4), "1.243 s"],
  [format.formatTime(null), "–"],
  [format.formatTime(NaN), "–"],
  [format.formatTime(Infinity), "–"],
  [format.formatBytes(0), "0 B"],
  [format.formatBytes(1023), "1.00 KiB"],
  [format.formatBytes(12 * 1024 ** 3), "12.0 GiB"],
  [format.formatBytes(1024 ** 5 * 3), "3.00 PiB"],
  [format.formatBytes(undefined), "–"],
  [format.formatFlops(0), "0"],
  [format.formatFlops(999), "999"],
  [format.formatFlops(999.7), "1.00 k"],
  [format.formatFlops(3_866_123_456), "3.87 G"],
  [format.formatFlops(2e21), "2,000 E"],
  [format.formatFlops(null), "–"],
  [format.formatCount(10_061), "10,061"],
  [format.formatCount(null), "–"],
  [format.counted(1, "group"), "1 group"],
  [format.counted(128, "group"), "128 groups"],
  [format.formatShare(0.784), "78 %"],
  [format.formatShare(0.001), "< 1 %"],
  [format.formatShare(0), "0 %"],
  [format.formatRatio(1.3234), "1.32×"],
  [format.formatRatio(12.04), "12.0×"],
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
  assert.equal(format.shortName("inception_v3/mixed_5b/conv"), "conv");
  assert.equal(format.shortName("///"), "///");
  assert.equal(format.shortName("a".repeat(50)).length, 24);
  assert.equal([...format.cutName("x".repeat(1_000_000))].length, 119);
  assert.equal(format.cutName("ab😀cd".repeat(40), 11), "ab😀cd…ab😀cd");
});

test("characters that hide or turn text around are written out", () => {
  assert.equal(format.visible("evil\u202egnp.exe"), "evil\\u202egnp.exe");
  assert.equal(format.visible("a\nb\tc\u0000"), "a\\u000ab\\u0009c\\u0000");
  assert.equal(format.shortName("x/a\u2067b"), "a\\u2067b");
});
