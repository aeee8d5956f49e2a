import assert from "node:assert/strict";
import { test } from "node:test";
import { sortErrors } from "../../frontend/js/forms/form-errors.js";
import { faultOf, faultOfSecond } from "../../frontend/js/forms/upload.js";

const ACCEPT = ".pb,.pbtxt, .json";
const LIMIT = 256 * 1024 ** 2;

test("a file that can be no graph is refused before it is sent, with what is allowed", () => {
  /** @type {[{ name: string, size: number } | undefined, string][]} */
  const table = [
    [undefined, "No file was chosen."],
    [{ name: "cat.png", size: 9 }, "cat.png: this kind of file cannot be read; allowed: .pb, .pbtxt, .json"],
    [{ name: "pb", size: 9 }, "pb: this kind of file cannot be read; allowed: .pb, .pbtxt, .json"],
    [{ name: "a.pb", size: 0 }, "a.pb: the file is empty; allowed: a graph with at least one op"],
    [{ name: "a.pb", size: LIMIT + 1 }, "a.pb: the file has 256 MiB; allowed: at most 256 MiB"],
    [{ name: "a.pb", size: LIMIT * 4 }, "a.pb: the file has 1.00 GiB; allowed: at most 256 MiB"],
    [{ name: "a.PB", size: LIMIT }, ""],
    [{ name: "graph.pbtxt", size: 1 }, ""],
  ];
  for (const [file, wanted] of table) {
    assert.equal(faultOf(file, LIMIT, ACCEPT), wanted);
  }
});

test("a second file that can be no measured times is refused before it is sent; the limit is for both together", () => {
  const graph = { name: "a.zip", size: 100 };
  /** @type {[{ name: string, size: number } | undefined, string][]} */
  const table = [
    [undefined, ""],
    [{ name: "times.json", size: 9 }, "times.json: this is no RunMetadata; allowed: .pb"],
    [{ name: "times.pb", size: 0 }, "times.pb: the file is empty; allowed: RunMetadata with step stats"],
    [{ name: "times.pb", size: LIMIT - 100 }, ""],
    [{ name: "times.PB", size: LIMIT - 99 }, "Both files together have 256 MiB; allowed: at most 256 MiB"],
  ];
  for (const [times, wanted] of table) {
    assert.equal(faultOfSecond(times, graph, LIMIT, ".pb"), wanted);
  }
});

test("a sentence goes to its field where the form has it, all others are one text", () => {
  const errors = { groups: ["no number"], file: ["no graph"], "": ["too late", "and too much"] };
  assert.deepEqual(sortErrors(errors, ["groups", "signature"]), {
    atFields: [["groups", ["no number"]]],
    rest: "no graph too late and too much",
  });
  assert.deepEqual(sortErrors({}, ["groups"]), { atFields: [], rest: "" });
});
