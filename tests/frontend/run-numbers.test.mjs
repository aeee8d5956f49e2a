import assert from "node:assert/strict";
import { test } from "node:test";
import { aboveBound, againstOneDevice, bandWords, beforeFirstEpisode, robustnessWords, runNumbers, whyEarly } from "../../frontend/js/run/run-numbers.js";
import { initialState, reduce } from "../../frontend/js/run/run-state.js";
import { baseline, episode, finished, started } from "./events.mjs";

const BUDGET = { evaluations: 100, seconds: null };

/** @param {import("./events.mjs").RunEvent[]} events */
function after(...events) {
  return reduce(initialState("running"), { type: "events", events });
}

test("before the first event nothing is claimed", () => {
  const numbers = runNumbers(initialState(), BUDGET);
  assert.deepEqual(numbers, {
    used: 0,
    budget: 100,
    bestUs: null,
    singleUs: null,
    elapsedSeconds: null,
    baselineSeconds: 0,
    leftSeconds: null,
    lowerBoundUs: null,
  });
});

test("the best placement is compared with one device and with the bound", () => {
  const episodes = [episode(3, { best_step_time_us: 500 })];
  const numbers = runNumbers(after(started(1), baseline(2, "single_device", 1000), ...episodes), BUDGET);
  assert.equal(againstOneDevice(numbers), "50 % faster than one device");
  assert.equal(againstOneDevice({ bestUs: 1000, singleUs: 1000 }), "as fast as one device");
  const alone = runNumbers(after(started(1), baseline(2, "single_device", null), ...episodes), BUDGET);
  assert.equal(againstOneDevice(alone), "does not fit on one device");
  assert.equal(againstOneDevice({ bestUs: null, singleUs: 1000 }), "–");
  assert.equal(aboveBound({ bestUs: 616, lowerBoundUs: 393 }), "best is 57 % above it");
  assert.equal(aboveBound({ bestUs: 616, lowerBoundUs: 0 }), "–");
});

test("the report's robustness is one sentence, and older reports have none", () => {
  const known = { mean_regret: 0.004, worst_regret: 0.023, best_share: 0.6, draws: 32, candidates: 10, seconds: 1, note: "" };
  const robustness = { ...known, fastest_step_time_us: 900 };
  const words = "The placement holds if costs are up to 30 % off: then it is at most 2.3 % slower than the best of 10 good ones, 0.4 % on average.";
  assert.equal(robustnessWords(robustness), words);
  assert.match(robustnessWords(robustness, true), /^If costs are up to 30 % off, its period is at most .* longer than the shortest of 10 good placements.* Batches were not compared so\.$/);
  assert.match(robustnessWords({ ...robustness, mean_regret: 0, worst_regret: 0 }), /^The placement holds .*: it stays the best of 10 good ones\.$/);
  assert.match(robustnessWords({ ...robustness, mean_regret: 0.00001, worst_regret: 0.0004 }), /: it stays the best of 10 good ones\.$/, "not: at most 0 % slower");
  assert.match(robustnessWords({ ...robustness, worst_regret: 0.08 }), /^If costs are up to 30 % off, another placement may be better: .* at most 8 % slower/);
  assert.equal(robustnessWords({ ...robustness, candidates: 1 }), "");
  assert.equal(robustnessWords(undefined), "");
  const unknown = { ...robustness, mean_regret: null, worst_regret: null, best_share: null, note: "too many ops" };
  assert.match(robustnessWords(unknown), /Whether it holds with other costs is not known: too many ops/);
});

test("time left follows the rate of the last episodes", () => {
  const episodes = Array.from({ length: 60 }, (_, index) =>
    episode(index + 2, { evaluations: index + 1, elapsed_seconds: index < 9 ? index * 10 : 80 + (index - 8) * 0.5 }),
  );
  const { leftSeconds } = runNumbers(after(started(1), ...episodes), BUDGET);
  assert.ok(leftSeconds !== null && Math.abs(leftSeconds - 20) < 0.01, `${leftSeconds}`);
});

test("a limit of seconds can end it earlier", () => {
  const state = after(started(1), episode(2, { evaluations: 1, elapsed_seconds: 1 }), episode(3, { evaluations: 2, elapsed_seconds: 2 }));
  assert.equal(runNumbers(state, { evaluations: 100, seconds: 10 }).leftSeconds, 8);
  assert.equal(runNumbers(state, { evaluations: 100, seconds: 1 }).leftSeconds, 0);
  assert.equal(runNumbers(state, BUDGET).leftSeconds, 98);
});

test("a rate of nothing is no estimate", () => {
  const same = { evaluations: 5, elapsed_seconds: 3 };
  assert.equal(runNumbers(after(started(1), episode(2, same)), BUDGET).leftSeconds, null);
  assert.equal(runNumbers(after(started(1), episode(2, same), episode(3, same)), BUDGET).leftSeconds, null);
});

test("the report has the last word", () => {
  const state = reduce(after(started(1), episode(2), finished(3)), { type: "status", status: "done", error: "" });
  const numbers = runNumbers(state, BUDGET);
  assert.equal(numbers.bestUs, 800);
  assert.equal(numbers.used, 100);
  assert.equal(numbers.elapsedSeconds, 12.5);
  assert.equal(numbers.leftSeconds, null);
});

test("a report on a calibrated cluster says between which times a real step is expected", () => {
  const band = { low_us: 110_000, middle_us: 150_000, high_us: 190_000, machine: "2 × a processor", date: "2026-11-25" };
  assert.match(bandWords(band), /^On the machine that was calibrated on 2026-11-25, a real step takes about 150\S* ms: 110\S* ms to 190\S* ms if/);
  assert.equal(bandWords(undefined), "");
});

/** How long the evaluations of a run take, one after the other, in seconds. */
const RUNS = {
  steady: () => 0.05,
  "in batches, with a rest to learn between": (/** @type {number} */ evaluation) => (evaluation % 64 === 0 ? 3 : 0.002),
  "slow at first": (/** @type {number} */ evaluation) => (evaluation < 40 ? 0.4 : 0.05),
  "slower and slower": (/** @type {number} */ evaluation) => 0.05 * (1 + evaluation / 4000),
};

for (const [what, secondsOf] of Object.entries(RUNS)) {
  test(`after the first tenth the time left is right within a factor of 1.5: ${what}`, () => {
    const evaluations = 2000;
    const seconds = Array.from({ length: evaluations }, (_, index) => secondsOf(index));
    const whole = seconds.reduce((sum, each) => sum + each, 0);
    const events = [];
    let elapsed = 0;
    for (const [index, each] of seconds.entries()) {
      elapsed += each;
      events.push(episode(index + 2, { evaluations: index + 1, elapsed_seconds: elapsed }));
    }
    for (const share of [0.1, 0.15, 0.3, 0.5, 0.7, 0.9]) {
      const seen = events.slice(0, Math.round(evaluations * share) + 1);
      const left = runNumbers(after(started(1), ...seen), { evaluations, seconds: null }).leftSeconds ?? NaN;
      const truth = whole - (seen.at(-1)?.elapsed_seconds ?? 0);
      assert.ok(left >= truth / 1.5 && left <= truth * 1.5, `${share}: ${left} of ${truth}`);
    }
  });
}

test("times include the baselines", () => {
  const baselines = ["single_device", "random"].map((method, index) => ({ ...baseline(index + 2, method, 1000), wall_seconds: 1.5 }));
  const numbers = runNumbers(after(started(1), ...baselines, episode(4, { elapsed_seconds: 2 })), BUDGET);
  assert.deepEqual([numbers.elapsedSeconds, numbers.baselineSeconds], [5, 3]);
});

test("until the first episode the page names what runs", () => {
  const names = ["Single device", "Random"];
  assert.match(beforeFirstEpisode(after(started(1)), names, ""), /baselines, to compare with: Single device, 1 of 2\./);
  const first = { ...baseline(2, "single_device", 1000), wall_seconds: 1.5 };
  assert.match(beforeFirstEpisode(after(started(1), first), names, ", ≈ 20 s left"), /Random, 2 of 2, ≈ 20 s left\./);
  const both = after(started(1), first, { ...baseline(3, "random", 1000), wall_seconds: 0.5 });
  assert.equal(beforeFirstEpisode(both, names, ""), "The method prepares its first placements. The baselines took 2.0 s.");
});

test("why a run ended early stands beside its count", () => {
  const ended = (/** @type {string} */ status, /** @type {Partial<import("../../frontend/js/ui/contracts.js").Report>} */ report, seconds = /** @type {number | null} */ (null)) => {
    const event = finished(3);
    const state = after(started(1), episode(2), { ...event, report: { ...event.report, evaluations: 61, wall_seconds: 40.02, ...report } });
    return whyEarly(reduce(state, { type: "status", status: /** @type {any} */ (status), error: "" }), { evaluations: 100, seconds });
  };
  assert.equal(ended("done", {}, 40), "its limit of 40 s was reached");
  assert.equal(ended("done", { wall_seconds: 9 }, 40), "the method had nothing more to try");
  assert.equal(ended("done", {}), "the method had nothing more to try");
  assert.equal(ended("done", { evaluations: 100 }), "");
  assert.equal(ended("cancelled", {}), "it was cancelled");
  assert.equal(ended("running", {}), "");
});
