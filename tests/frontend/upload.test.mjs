import assert from "node:assert/strict";
import { test } from "node:test";
import { faultOf } from "../../frontend/js/upload.js";

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
