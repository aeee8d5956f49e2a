import assert from "node:assert/strict";
import { test } from "node:test";

import { cutName } from "../../frontend/js/ui/format.js";
import { cutNames, shownName, shownNames } from "../../frontend/js/ui/names.js";

const LAYER = "multi_head_attention_1/attention_output_1/MatMul";

test("a name is cut in the middle: its end stays, of a path in whole parts where they fit", () => {
  assert.equal(cutName(LAYER, 48), LAYER);
  assert.equal(cutName(LAYER, 40), "multi_head_at…/attention_output_1/MatMul");
  assert.equal(cutName(LAYER, 20), "multi_head_a…/MatMul");
  assert.equal(cutName(LAYER, 8), "…/MatMul");
  assert.equal(cutName(LAYER, 7), "…MatMul");
  assert.equal(cutName(LAYER, 6), "mu…Mul");
  assert.equal(cutName("averyverylongname", 7), "ave…ame");
  assert.equal(cutName("a/averyverylongname", 7), "a/a…ame");
  assert.equal(cutName("block1/branch2/conv", 14), "block1/b…/conv");
});

test("whatever the name and the room, it is cut to the room and keeps its end", () => {
  const parts = ["a", "while", "lstm_cell_1", "MatMul", "", "x".repeat(30), "\u202e"];
  for (let seed = 0; seed < 400; seed += 1) {
    const name = Array.from({ length: 1 + (seed % 6) }, (_, index) => parts[(seed * 7 + index * (seed % 5)) % parts.length]).join("/");
    for (const room of [2, 3, 5, 8, 13, 40]) {
      const [cut, whole] = [cutName(name, room), cutName(name, 1000)];
      assert.ok(cut === whole || (cut.length === room && whole.endsWith(cut.slice(cut.indexOf("…") + 1)) && !cut.endsWith("…")), `${name} in ${room}`);
    }
  }
});

test("no two names of a table look the same, as far as they differ", () => {
  const [one, other] = [1, 2].map((part) => `encoder/${"layer/".repeat(9)}part_${part}/${"layer/".repeat(9)}MatMul`);
  assert.equal(cutName(one, 30), cutName(other, 30));
  const cut = cutNames([one, other, "short", one], 30);
  assert.ok(cut[0] !== cut[1] && cut[0] === cut[3] && cut[2] === "short");
  assert.ok(cutNames([one, "short"], 30)[0].length === 30, "alone, a name is cut");
  assert.deepEqual(cutNames(["\u202e", "\\u202e"], 3), ["\\u202e", "\\u202e"]);
  assert.deepEqual(cutNames([], 3), []);
});

test("what the server shows of a name is shown, and its name where an older one says nothing", () => {
  assert.equal(shownName({ name: "call/net/a", short_name: "a" }), "a");
  assert.equal(shownName({ name: "call/net/a" }), "call/net/a");
  assert.deepEqual(shownNames({ names: ["call/net/a"], short_names: ["a"] }), ["a"]);
  assert.deepEqual(shownNames({ names: ["call/net/a"] }), ["call/net/a"]);
});
