// A kept placement as the server lists it.

/** @type {import("../../frontend/js/run/kept-placements.js").KeptPlacement} */
export const KEPT = {
  id: "16aaf847-776d-4ab4-8950-e7128db6125c",
  name: "<b>mine</b>",
  origin: "hand",
  run: null,
  run_seq: null,
  step_time_us: 5,
  missing_bytes: 1,
  split_groups: 1,
  created_at: "2026-01-01T00:00:00Z",
  urls: { json: "/j", explanation: "/e", rename: "/r", delete: "/d", downloads: {} },
};
