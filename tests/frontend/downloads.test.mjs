import assert from "node:assert/strict";
import { test } from "node:test";
import { fileNameOf, progressWords } from "../../frontend/js/ui/download-words.js";

const NONE = { name: "placed.pb", seconds: 0, receivedBytes: 0, totalBytes: null, receivingSeconds: 0 };

test("before the first byte it says for how long the file is being prepared", () => {
  assert.equal(progressWords({ ...NONE, seconds: 4.9 }), "Preparing… 4 s");
});

test("once bytes come it says how many, and how long the rest takes where the length is known", () => {
  const half = { ...NONE, seconds: 9, receivedBytes: 2 ** 20, receivingSeconds: 5 };
  assert.equal(progressWords(half), "Receiving… 1.00 MiB");
  assert.match(progressWords({ ...half, totalBytes: 2 ** 21 }), /^Receiving… 1\.00 MiB of 2\.00 MiB, 5\.?\d* s left$/);
  assert.doesNotMatch(progressWords({ ...half, totalBytes: 2 ** 30 }), /left/, "too early to tell");
});

test("the file's name is the server's, and never a path", () => {
  assert.equal(fileNameOf('attachment; filename="inception-placed.pb"'), "inception-placed.pb");
  for (const header of [null, "", "attachment", 'attachment; filename="../up"']) {
    assert.equal(fileNameOf(header), "download");
  }
});
