import assert from "node:assert/strict";
import { test } from "node:test";
import { errorSentence } from "../../frontend/js/ui/sentences.js";

test("an error of the engine becomes sentences", () => {
  /** @type {[string, string][]} */
  const cases = [
    ["the file is empty; allowed: a graph with at least one op", "The file is empty. Allowed: a graph with at least one op."],
    ["graph.pb: the file is empty; allowed: a graph", "graph.pb: the file is empty. Allowed: a graph."],
    ["the cluster has no CPU; add one, as in 2xK80+cpu", "The cluster has no CPU; add one, as in 2xK80+cpu."],
    ["line 2: '=2' names no input; allowed: a=1", "Line 2: '=2' names no input. Allowed: a=1."],
    ["17 clusters; allowed: at most 16.", "17 clusters. Allowed: at most 16."],
    ["It has ended.", "It has ended."],
    ["a long name that was cut…", "A long name that was cut…"],
    ["x; allowed: a; allowed: b", "x. Allowed: a; allowed: b."],
    ["", ""],
  ];
  for (const [text, words] of cases) {
    assert.equal(errorSentence(text), words);
  }
});
