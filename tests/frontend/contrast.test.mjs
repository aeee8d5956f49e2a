// The colours of the style sheet keep text and lines apart from what they stand on, in light and in dark.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const SHEET = readFileSync(new URL("../../frontend/styles/tokens.css", import.meta.url), "utf8");
const THEMES = ["light", "dark"];
const SURFACES = ["page", "surface", "raised", "sunken"];
const TEXT = 4.5;
const LINE = 3;

/** @type {Map<string, string[]>} name → its colour in each theme */
const colours = new Map(
  [...SHEET.matchAll(/--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);/g)].map(([, name, ...both]) => [name, both]),
);

/** @type {[number, string[], string[]][]} least contrast, of each of these, on each of those */
const PROMISES = [
  [TEXT, ["text", "muted", "accent", "accent-strong", "danger"], SURFACES],
  [TEXT, ["on-accent"], ["accent", "accent-strong"]],
  [TEXT, ["text", "muted", "accent"], ["accent-soft"]],
  [TEXT, ["text", "good"], ["good-soft"]],
  [TEXT, ["text", "warn"], ["warn-soft"]],
  [TEXT, ["text", "danger"], ["danger-soft"]],
  [LINE, ["border-strong"], SURFACES], // of controls, and around the marks of devices, whose colours differ in lightness
  [LINE, ["edge", "edge-crossing", "node-unplaced"], ["surface"]],
  [LINE, ["good", "accent", "chart-mean", "chart-bound", "warn"], ["surface"]], // the bar of the sources of times
  [LINE, ["point", "best", "mean", "single", "cpu", "random", "scotch", "expert", "bound"].map((name) => `chart-${name}`), ["surface"]],
];

/**
 * Source: Web Content Accessibility Guidelines 2.2, relative luminance.
 *
 * @param {string} colour `#rrggbb`
 * @returns {number} from 0 to 1
 */
function luminance(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/**
 * @param {string} one
 * @param {string} other
 * @returns {number} from 1 to 21
 */
function contrast(one, other) {
  const [darker, lighter] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

/**
 * @param {string} name
 * @param {number} theme
 * @returns {string}
 */
function colourOf(name, theme) {
  const both = colours.get(name);
  assert.ok(both, `there is no --${name} with a colour in each theme`);
  return both[theme];
}

test("black on white is 21, a colour on itself 1", () => {
  assert.equal(contrast("#000000", "#ffffff"), 21);
  assert.equal(contrast("#808b9c", "#808b9c"), 1);
});

for (const [theme, word] of THEMES.entries()) {
  test(`text and lines stand out in ${word}`, () => {
    const short = PROMISES.flatMap(([least, fronts, backs]) =>
      fronts.flatMap((front) => backs.map((back) => ({ least, front, back }))),
    ).flatMap(({ least, front, back }) => {
      const found = contrast(colourOf(front, theme), colourOf(back, theme));
      return found >= least ? [] : [`--${front} on --${back}: ${found.toFixed(2)}; allowed: at least ${least}`];
    });
    assert.deepEqual(short, []);
  });
}

for (const [theme, word] of THEMES.entries()) {
  test(`steps of a quantity differ in lightness in ${word}, for people who see no hues too`, () => {
    const steps = [0, 1, 2, 3, 4].map((step) => colourOf(`ramp-${step}`, theme));
    for (const [index, step] of steps.slice(1).entries()) {
      assert.ok(contrast(step, steps[index]) >= 1.4, `${index} and ${index + 1}: ${contrast(step, steps[index])}`);
    }
    assert.ok(contrast(steps[4], colourOf("surface", theme)) >= TEXT);
  });
}

test("controls take their edges from --border-strong", () => {
  const controls = readFileSync(new URL("../../frontend/styles/controls.css", import.meta.url), "utf8");
  for (const rule of [/^\.button \{[^}]*\}/m, /^input:where[^{]*\{[^}]*\}/m]) {
    assert.match(rule.exec(controls)?.[0] ?? "", /border: 1px solid var\(--border-strong\)/);
  }
});
