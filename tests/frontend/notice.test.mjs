// “Notify me when it ends”: told once, only if it is wanted and allowed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { initialNotice, noticeWords, reduceNotice } from "../../frontend/js/jobs/notice-state.js";

/** @typedef {import("../../frontend/js/jobs/notice-state.js").NoticeAction} NoticeAction */
/** @typedef {import("../../frontend/js/jobs/notice-state.js").Permission} Permission */

/** @type {NoticeAction} */
const GRANTED = { type: "asked", permission: "granted" };

/**
 * @param {NoticeAction[]} actions
 * @param {{ wasWanted?: boolean, permission?: Permission, status?: string }} [found]
 */
function after(actions, { wasWanted = false, permission = "default", status = "running" } = {}) {
  return actions.reduce(reduceNotice, initialNotice({ wasWanted, permission, status }));
}

test("nothing is wanted until a person asks and the browser allows it", () => {
  assert.equal(after([]).isWanted, false);
  assert.equal(after([GRANTED]).isWanted, true);
  assert.equal(after([{ type: "asked", permission: "denied" }]).isWanted, false);
  assert.equal(after([{ type: "asked", permission: "default" }]).isWanted, false, "the question was closed");
  assert.equal(after([GRANTED, { type: "declined" }]).isWanted, false);
});

test("it is due when the job ends, however it ends, and once", () => {
  for (const status of ["done", "failed", "cancelled", "deleted"]) {
    const ended = after([GRANTED, { type: "status", status }]);
    assert.equal(ended.isDue, true, status);
    const shown = reduceNotice(ended, { type: "shown" });
    assert.deepEqual([shown.isDue, shown.isWanted], [false, false]);
    assert.equal(reduceNotice(shown, { type: "status", status }).isDue, false);
  }
  for (const status of ["queued", "running"]) {
    assert.equal(after([GRANTED, { type: "status", status }]).isDue, false, status);
  }
  assert.equal(after([{ type: "status", status: "done" }]).isDue, false, "nobody wanted it");
});

test("a page that is loaded again remembers it, and tells of an end meanwhile", () => {
  assert.equal(after([], { wasWanted: true, permission: "granted" }).isWanted, true);
  assert.equal(after([], { wasWanted: true, permission: "granted", status: "done" }).isDue, true);
  assert.equal(after([], { wasWanted: true, permission: "denied", status: "done" }).isDue, false);
  assert.equal(after([], { permission: "granted", status: "done" }).isDue, false);
});

test("words say what comes, and what the browser refuses", () => {
  assert.equal(noticeWords(after([]), "run"), "");
  assert.equal(noticeWords(after([GRANTED]), "run"), "A notification comes when this run ends, as long as this tab is open.");
  assert.match(noticeWords(after([{ type: "asked", permission: "denied" }]), "run"), /^This browser allows no notifications/);
  assert.equal(noticeWords(after([GRANTED, { type: "status", status: "done" }]), "run"), "");
});
