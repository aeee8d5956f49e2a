import assert from "node:assert/strict";
import test from "node:test";

import { matches, parseOpQuery } from "../../frontend/js/step/op-query.js";

/** @param {Partial<import("../../frontend/js/step/op-query.js").OpFacts>} facts */
function op(facts) {
  return { text: "mixed_7a/conv\nConv2D\nmixed_7a\nGPU 0".toLowerCase(), timeUs: 10, slackUs: 0, startUs: 0, critical: false, ...facts };
}

/**
 * @param {string} query
 * @param {Partial<import("../../frontend/js/step/op-query.js").OpFacts>} [facts]
 */
function found(query, facts = {}) {
  const parsed = parseOpQuery(query);
  assert.equal(parsed.error, "", query);
  return matches(parsed, op(facts));
}

test("words are parts of the name, the type, the group or the device, and all must hold", () => {
  assert.ok(found(""));
  assert.ok(found("CONV mixed_7a"));
  assert.ok(found("conv2d gpu"));
  assert.ok(!found("conv pool"));
  assert.ok(found("conv -pool"));
  assert.ok(!found("-conv"));
});

test("a device is one word, with quotes or without", () => {
  assert.ok(found("gpu 0"));
  assert.ok(!found("gpu 1", { text: "x1\nconv\nx1\ngpu 0" }), "the 1 of a name is no device");
  assert.ok(found('"gpu 0" conv'));
  assert.ok(!found("-gpu 0"));
});

test("times are compared in every unit", () => {
  assert.ok(found("> 5 ms", { timeUs: 5001 }));
  assert.ok(!found("> 5 ms", { timeUs: 5000 }));
  assert.ok(found(">= 5ms", { timeUs: 5000 }));
  assert.ok(found("< 1 s", { timeUs: 999_999 }));
  assert.ok(found("<= 2.5 µs", { timeUs: 2.5 }));
  assert.ok(found("slack < 1us start > 3 ms conv", { slackUs: 0.5, startUs: 3001 }));
  assert.ok(!found("slack < 1 us", { slackUs: 1 }));
});

test("critical is a word of its own, and of the text in quotes", () => {
  assert.ok(found("critical", { critical: true }));
  assert.ok(!found("critical"));
  assert.ok(found("-critical"));
  assert.ok(found('"critical"', { text: "critical_section" }));
});

test("a comparison without a time or a unit says what it needs", () => {
  for (const query of ["> 5", ">", "> 5 parsecs", "slack < x"]) {
    assert.match(parseOpQuery(query).error, /needs a time with its unit, such as [<>]=? 5 ms/, query);
  }
});

test("what means something to a regular expression is text", () => {
  assert.ok(!found("(.*)"));
  assert.ok(found("a[0]", { text: "a[0]" }));
});
