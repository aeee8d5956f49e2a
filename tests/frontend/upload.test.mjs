import assert from "node:assert/strict";
import { test } from "node:test";
import { entryFault, sortErrors } from "../../frontend/js/forms/form-errors.js";
import { faultOf } from "../../frontend/js/forms/upload.js";

const ACCEPT = ".pb,.pbtxt, .json";
const LIMIT = 256 * 1024 ** 2;

test("a file of another kind, or one that is too large, is refused before it is sent, with what is allowed", () => {
  /** @type {[{ name: string, size: number } | undefined, string][]} */
  const table = [
    [undefined, ""],
    [{ name: "cat.png", size: 9 }, "cat.png: a file ending in .png; allowed: .pb, .pbtxt, .json"],
    [{ name: "pb", size: 9 }, "pb: a file ending in nothing; allowed: .pb, .pbtxt, .json"],
    [{ name: ".pb", size: 9 }, ".pb: a file ending in nothing; allowed: .pb, .pbtxt, .json"],
    [{ name: "a.pb", size: LIMIT + 1 }, "a.pb: the file is too large; allowed: at most 256 MiB"],
    [{ name: "a.PB", size: LIMIT }, ""],
    [{ name: "graph.pbtxt", size: 1 }, ""],
    [{ name: "empty.pb", size: 0 }, ""],
  ];
  for (const [file, wanted] of table) {
    assert.equal(faultOf([{ file, accept: ACCEPT }], LIMIT), wanted);
  }
});

test("a known file of another kind says how to convert it", () => {
  const file = { name: "model.ONNX", size: 9 };
  const conversions = { ".onnx": "convert it" };
  assert.equal(faultOf([{ file, accept: ".pb", conversions }], LIMIT), "model.ONNX: a file ending in .onnx; convert it; allowed: .pb");
  const odd = { name: "model.constructor", size: 9 };
  assert.equal(faultOf([{ file: odd, accept: ".pb", conversions }], LIMIT), "model.constructor: a file ending in .constructor; allowed: .pb");
});

test("a second file has its own kind, and the limit is for both together", () => {
  const graph = { file: { name: "a.json", size: 100 }, accept: ACCEPT };
  /** @type {[{ name: string, size: number } | undefined, string][]} */
  const table = [
    [undefined, ""],
    [{ name: "times.json", size: 9 }, "times.json: a file ending in .json; allowed: .pb"],
    [{ name: "times.pb", size: LIMIT - 100 }, ""],
    [{ name: "times.PB", size: LIMIT - 99 }, "both files together are too large; allowed: at most 256 MiB"],
  ];
  for (const [file, wanted] of table) {
    assert.equal(faultOf([graph, { file, accept: ".pb" }], LIMIT), wanted);
  }
});

test("a sentence goes to its field where the form has it, all others are one text", () => {
  const errors = { groups: ["no number"], file: ["no graph"], "": ["too late", "and too much"] };
  assert.deepEqual(sortErrors(errors, ["groups", "signature"]), {
    atFields: [["groups", ["no number"]]],
    rest: "No graph. Too late. And too much.",
  });
  assert.deepEqual(sortErrors({}, ["groups"]), { atFields: [], rest: "" });
});

test("a wrong entry has a sentence of its own", () => {
  /** @param {Record<string, boolean>} faults */
  const validity = (faults) => /** @type {ValidityState} */ (/** @type {unknown} */ ({ valid: Object.keys(faults).length === 0, ...faults }));
  const range = { min: "1", max: "64", type: "number" };
  assert.equal(entryFault({ validity: validity({}), ...range }), "");
  assert.equal(entryFault({ validity: validity({ valueMissing: true }), ...range }), "Enter a value.");
  assert.equal(entryFault({ validity: validity({ rangeOverflow: true }), ...range }), "Enter a number from 1 to 64.");
  assert.equal(entryFault({ validity: validity({ rangeUnderflow: true }), min: "1e-06", max: "", type: "number" }), "Enter a number above 0.");
  assert.equal(entryFault({ validity: validity({ rangeUnderflow: true }), min: "1", max: "", type: "number" }), "Enter a number of at least 1.");
  assert.equal(entryFault({ validity: validity({ stepMismatch: true }), ...range }), "Enter a whole number.");
  assert.equal(entryFault({ validity: validity({ badInput: true }), ...range }), "Enter a number.");
});
