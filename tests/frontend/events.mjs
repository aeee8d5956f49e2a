// Events as the server sends them, for the tests.

/** @typedef {import("../../frontend/js/ui/contracts.js").RunEvent} RunEvent */

/**
 * @param {number} seq
 * @returns {import("../../frontend/js/ui/contracts.js").StartedEvent}
 */
export function started(seq = 1) {
  return {
    type: "started",
    seq,
    version: 1,
    method: "placeto",
    settings: { preset: "fast" },
    seed: 0,
    evaluations: 100,
    groups: 3,
    devices: ["/device:GPU:0", "/device:GPU:1"],
    lower_bound_us: 500,
    engine_version: "0.1.0",
  };
}

/**
 * @param {number} seq
 * @param {string} method
 * @param {number | null} stepTimeUs
 * @returns {import("../../frontend/js/ui/contracts.js").BaselineEvent}
 */
export function baseline(seq, method, stepTimeUs) {
  return {
    type: "baseline",
    seq,
    version: 1,
    method,
    step_time_us: stepTimeUs,
    mean_step_time_us: stepTimeUs,
    evaluations: 1,
    note: stepTimeUs === null ? "no CPU in the cluster" : "",
  };
}

/**
 * @param {number} seq
 * @param {Partial<import("../../frontend/js/ui/contracts.js").EpisodeEvent>} [fields]
 * @returns {import("../../frontend/js/ui/contracts.js").EpisodeEvent}
 */
export function episode(seq, fields = {}) {
  return {
    type: "episode",
    seq,
    version: 1,
    episode: seq - 1,
    step_time_us: 1000,
    feasible: true,
    best_step_time_us: 900,
    evaluations: seq - 1,
    elapsed_seconds: seq / 10,
    placement: [0, 1, 0],
    ...fields,
  };
}

/**
 * @param {number} seq
 * @param {Partial<import("../../frontend/js/ui/contracts.js").UpdateEvent>} [fields]
 * @returns {import("../../frontend/js/ui/contracts.js").UpdateEvent}
 */
export function update(seq, fields = {}) {
  return {
    type: "update",
    seq,
    version: 1,
    episode: seq,
    evaluations: seq,
    elapsed_seconds: seq / 10,
    mean_return: -1.5,
    return_baseline: -1.6,
    memory_penalty: 0,
    entropy: 0.4,
    gradient_norm: 0.7,
    learning_rate: 0.003,
    ...fields,
  };
}

/**
 * @param {number} seq
 * @returns {import("../../frontend/js/ui/contracts.js").FinishedEvent}
 */
export function finished(seq) {
  return {
    type: "finished",
    seq,
    version: 1,
    report: {
      method: "placeto",
      step_time_us: 800,
      feasible: true,
      peak_bytes: [1, 2],
      evaluations: 100,
      wall_seconds: 12.5,
      lower_bound_us: 500,
      device_of_group: [1, 1, 0],
    },
  };
}

/**
 * A whole run of `episodes` episodes.
 *
 * @param {number} episodes
 * @returns {RunEvent[]}
 */
export function wholeRun(episodes) {
  const times = Array.from({ length: episodes }, (_, index) => 1000 - ((index * 37) % 101));
  return [
    started(1),
    baseline(2, "single_device", 950),
    ...times.map((time, index) =>
      episode(index + 3, {
        episode: index + 1,
        step_time_us: time,
        best_step_time_us: Math.min(950, ...times.slice(0, index + 1)),
        evaluations: index + 1,
        placement: [index % 2, 1, 0],
      }),
    ),
    finished(episodes + 3),
  ];
}
