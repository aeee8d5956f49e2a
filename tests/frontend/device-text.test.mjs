import assert from "node:assert/strict";
import { test } from "node:test";
import { faultOfRows, linksThatFit, textOfRows } from "../../frontend/js/forms/device-text.js";

const kinds = [
  { name: "A100", memory_gib: 40, links: ["pcie", "nvlink"] },
  { name: "T4", memory_gib: 16, links: ["pcie"] },
  { name: "CPU", memory_gib: 488, links: ["pcie", "nvlink"] },
  { name: "H200", memory_gib: 141e9 / 1024 ** 3, links: ["pcie", "nvlink"] },
];
const row = (/** @type {number} */ count, /** @type {string} */ kind, /** @type {number} */ memory_gib) => ({ count, kind, memory_gib });

test("the text leaves out a count of one, the usual memory and the usual links", () => {
  assert.equal(textOfRows([row(2, "A100", 40), row(1, "CPU", 488)], "", kinds), "2xA100+CPU");
  assert.equal(textOfRows([row(2, "A100", 80), row(1, "T4", 1.5)], "pcie", kinds), "2xA100:80GiB+T4:1.5GiB@pcie");
  assert.equal(textOfRows([row(8, "H200", Number((141e9 / 1024 ** 3).toPrecision(12)))], "", kinds), "8xH200", "a memory of no whole number of GiB");
});

test("only links that all kinds can have are offered", () => {
  const links = [{ name: "pcie", label: "PCIe" }, { name: "nvlink", label: "NVLink" }];
  const offered = (/** @type {string[]} */ ...used) => linksThatFit(used.map((kind) => row(1, kind, 1)), { kinds, links }).map(({ name }) => name);
  assert.deepEqual(offered("A100", "CPU"), ["pcie", "nvlink"]);
  assert.deepEqual(offered("A100", "T4"), ["pcie"]);
});

test("rows that the server would refuse are refused at once", () => {
  assert.equal(faultOfRows([row(2, "A100", 40)]), "");
  assert.match(faultOfRows([]), /none/);
  for (const count of [0, 257, 1.5, NaN]) {
    assert.match(faultOfRows([row(1, "CPU", 1), row(count, "A100", 40)]), /from 1 to 256/);
  }
  for (const memory of [0, -1, NaN, 1e6]) {
    assert.match(faultOfRows([row(1, "A100", memory)]), /memory above 0/);
  }
});
