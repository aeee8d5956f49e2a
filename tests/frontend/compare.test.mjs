// Two placements of one graph: what can be compared, what moved, and what their steps differ by.
import assert from "node:assert/strict";
import { test } from "node:test";

import { askBacks, inOrder } from "../../frontend/js/compare/backs.js";
import { causeParts, deviceParts, differenceSentence, mayMoveInside, movesBetween, movesInside, pairsOf } from "../../frontend/js/compare/difference.js";
import { sideOf } from "../../frontend/js/compare/compared-group.js";
import { isDrawnAlike } from "../../frontend/js/compare/drawn-comparison.js";
import { clusterTitle, columnsOf } from "../../frontend/js/compare/methods-table.js";
import { optionsOf } from "../../frontend/js/compare/compare-choice.js";
import { ofRun, problemOf, References } from "../../frontend/js/compare/references.js";
import { SPLIT_LOOK } from "../../frontend/js/graph/colouring.js";
import { deviceLooks } from "../../frontend/js/graph/devices.js";
import { movePicture } from "../../frontend/js/graph/move-picture.js";
import { KeptPlacements } from "../../frontend/js/run/kept-placements.js";
import { placementOfToken } from "../../frontend/js/run/placements.js";
import { initialState, reduce } from "../../frontend/js/run/run-state.js";
import { Step } from "../../frontend/js/step/step.js";
import { formatTimeChange } from "../../frontend/js/ui/format.js";
import { sorted } from "../../frontend/js/ui/sorted-table.js";
import { baseline, episode, finished, started } from "./events.mjs";
import { KEPT } from "./kept.mjs";
import { bytes } from "./steps.mjs";

const LABELS = { single_device: "Single device" };
const OTHER = { id: "0b9ed6ff-4b0c-4d4e-9c52-4f5ee2b5b1d5", method: "heft", label: "HEFT", name: "", seed: 0, step_time_us: 700 };
const NAMED = { ...OTHER, id: "1b9ed6ff-4b0c-4d4e-9c52-4f5ee2b5b1d5", name: "Night shift" };

/** A run with a baseline whose placement is stored, one without, and episodes 1, 2 and 5. */
const events = [
  started(1),
  { ...baseline(2, "single_device", 950), placement: [0, 0, 0] },
  baseline(3, "random", 1200),
  baseline(4, "cpu_only", null),
  episode(5, { episode: 1, step_time_us: 1000, placement: [0, 1, 0] }),
  episode(6, { episode: 2, step_time_us: 900, placement: [1, 1, 0] }),
  episode(7, { episode: 5, step_time_us: 910, placement: [1, 1, 1] }),
];
const running = reduce(initialState(), { type: "events", events });
const done = reduce(running, { type: "events", events: [finished(8)] });

/** The same two ops, both on GPU 0: 30 µs without a transfer. */
const ON_ONE = bytes(
  { step_time_us: 30, cause_us: [30, 0, 0, 0, 0], busy_us: [30, 0] },
  { "idle.device": Int32Array.of(1), "idle.waits_us": Float64Array.of(0, 0, 0, 30) },
);

test("a placement that the run does not have says why", () => {
  assert.match(problemOf("episode-3", running), /not stored/);
  assert.match(problemOf("episode-9", running), /from 1 to 5/);
  assert.match(problemOf("episode-x", running), /from 1 to 5/);
  assert.match(problemOf("episode-1", initialState()), /no episodes yet/);
  assert.match(problemOf("baseline-random", running), /did not store the placements/, "an older run");
  assert.match(problemOf("baseline-cpu_only", running), /no CPU in the cluster/);
  assert.match(problemOf("baseline-__proto__", running), /no such baseline/);
  assert.match(problemOf("best", initialState()), /no placement that fits/);
  assert.match(problemOf("nonsense", running), /no such placement/);
});

test("the best of an ended run is its answer, even where no episode has it", () => {
  const [best, answer] = [running, done].map((state) => placementOfToken("best", state, LABELS));
  assert.deepEqual([best?.words, best?.stepTimeUs, best?.explanation], ["episode 2", 900, "explanations/6"]);
  assert.deepEqual([answer?.words, answer?.stepTimeUs, answer?.episodeIndex], ["the best placement", 800, -1]);
  assert.deepEqual([...Array.from(answer?.placement ?? [])], [1, 1, 0]);
});

test("what can be compared is listed: the best, baselines with a time, kept placements, other runs", () => {
  const words = optionsOf(running, [OTHER, NAMED], [KEPT], LABELS).map(({ label, options }) => [label, ...options.map(({ token, words }) => `${token}: ${words}`)]);
  assert.deepEqual(words, [
    ["This run", "best: Best, 900 µs"],
    ["Baselines", "baseline-single_device: Single device, 950 µs", "baseline-random: random, 1.20 ms"],
    ["Kept placements", `placement-${KEPT.id}: <b>mine</b>, 5.00 µs`],
    ["Other runs of this graph", `run-${OTHER.id}: HEFT, seed 0, 700 µs`, `run-${NAMED.id}: Night shift (HEFT, seed 0), 700 µs`],
  ]);
  assert.deepEqual(optionsOf(initialState(), [], [], LABELS), []);
});

test("the best of another run becomes a placement to compare with", () => {
  const run = ofRun("run-1", { ...OTHER, placement: [0, 1] });
  assert.deepEqual([run.words, run.placement, run.explanation], ["the best of HEFT, seed 0", [0, 1], ""]);
});

test("the best of another run is asked for once, and again only for a person who chooses it again", async () => {
  /** @type {string[]} */
  const asked = [];
  let status = 503;
  globalThis.fetch = async (address) => {
    asked.push(String(address));
    return new Response(JSON.stringify({ ...OTHER, placement: [0, 1] }), { status });
  };
  const answered = () => new Promise((later) => setTimeout(later, 20));
  const token = `run-${OTHER.id}`;
  const references = new References("/others.json", 2, LABELS, new KeptPlacements("1", () => {}), () => references.known(token, running));
  assert.equal(references.known(token, running), null);
  assert.ok(references.isLoading(token));
  await answered();
  assert.deepEqual(asked, [`/others/${OTHER.id}.json`]);
  assert.ok(!references.isLoading(token));
  assert.notEqual(references.problemOf(token, running), "");
  status = 200;
  references.retry(token);
  references.known(token, running);
  await answered();
  assert.equal(references.known(token, running)?.words, "the best of HEFT, seed 0");
  assert.equal(asked.length, 2);
});

test("a comparison is drawn again where its words, placements, step or look are others, and only then", () => {
  const references = new References("", 2, LABELS, new KeptPlacements("1", () => {}), () => {});
  const known = (/** @type {string} */ token) => {
    const found = references.known(token, running);
    assert.ok(found);
    return found;
  };
  const step = new Step(ON_ONE);
  const drawn = { reference: known("baseline-single_device"), shown: known("episode-1"), step, beside: false };
  const again = { ...drawn, reference: known("baseline-single_device"), shown: { ...known("episode-1"), placement: [0, 1, 0] } };
  assert.ok(isDrawnAlike(drawn, again), "found anew, they are the same");
  assert.ok(!isDrawnAlike(null, drawn));
  const others = {
    "a renamed reference": { reference: { ...drawn.reference, words: "kept placement “theirs”" } },
    "another reference": { reference: known("episode-5") },
    "another step file of an equal placement": { reference: { ...drawn.reference, key: "other" } },
    "another shown placement": { shown: known("episode-2") },
    "a move by hand": { shown: { ...drawn.shown, placement: [0, 1, 1] } },
    "split groups of another placement": { shown: { ...drawn.shown, base: "other" } },
    "a renamed shown placement": { shown: { ...drawn.shown, words: "kept placement “mine”" } },
    "a step that is not known yet": { step: null },
    "a step that was explained anew": { step: new Step(ON_ONE) },
    "both beside each other": { beside: true },
  };
  for (const [what, change] of Object.entries(others)) {
    assert.ok(!isDrawnAlike(drawn, { ...drawn, ...change }), what);
  }
});

test("a placement by hand is compared with by its token, and moves that cannot be made say why", () => {
  const references = new References("", 2, LABELS, new KeptPlacements("1", () => {}), () => {});
  const from = references.known("episode-2", running);
  const made = references.known("episode-2~0:1", running);
  assert.deepEqual([made?.words, made?.base, made?.explanation], ["episode 2 with 1 move by hand", from?.base, ""]);
  assert.deepEqual(made?.placement, [1, ...Array.from(from?.placement ?? []).slice(1)]);
  assert.notEqual(references.known("episode-2~0:0", running)?.key, made?.key);
  assert.equal(references.known("episode-2~0:7", running), null);
  assert.match(references.problemOf("episode-2~0:7", running), /name device 7; allowed: 0 to 1/);
  assert.match(references.problemOf("episode-3~0:1", running), /not stored/, "what they are made from is named first");
});

test("moves are the groups on another device, counted by pair of devices", () => {
  const moves = movesBetween([0, 0, 1, -1], [1, 1, 0, 0]);
  assert.deepEqual(moves[3], { group: 3, from: -1, to: 0 });
  assert.deepEqual(pairsOf(moves), [
    { from: 0, to: 1, count: 2 },
    { from: -1, to: 0, count: 1 },
    { from: 1, to: 0, count: 1 },
  ]);
  assert.deepEqual(movesBetween([1, 0], [1, 0]), []);
});

test("a group that is split in both placements has moved where its ops have", () => {
  const placements = { before: [-1, -1, 0], after: [-1, -1, -1] };
  const deviceOfOp = { before: [0, 1, 0, 1, 0], after: [1, 0, 0, 1, 1] };
  assert.ok(mayMoveInside(placements.before, placements.after));
  assert.ok(!mayMoveInside([-1, 0], [0, -1]), "a group that is whole on one side has another place");
  assert.deepEqual(movesInside(placements, deviceOfOp, (op) => [0, 0, 1, 1, 2][op]), [{ group: 0, from: -1, to: -1 }]);
});

test("the graph of differences shows a moved group's devices now and before, and the largest edges that begin or cease to cross", () => {
  const devices = deviceLooks([0, 1].map((index) => ({ name: `/device:GPU:${index}`, kind: "K80", class: "GPU", memory_bytes: 1 })));
  const edges = [[0, 1, 50], [1, 2, 9], [0, 2, 10], [2, 3, 99]].map(([source, target, bytes]) => ({ source, target, bytes }));
  const placed = (/** @type {number[]} */ placement) => ({ placement, step: null });
  const [before, after] = [[0, 0, 0, 1], [0, 1, -1, 1]];
  const { picture, lit, litEdges } = movePicture(placed(before), placed(after), movesBetween(before, after), devices, edges);
  assert.deepEqual([...lit], [0, 1, 1, 0]);
  assert.deepEqual([...litEdges], [1, 0, 1, 0]);
  const looks = Array.from(picture.lookOf, (look) => picture.looks[look]);
  assert.deepEqual(looks[0], { colour: devices[0].colour, shape: devices[0].shape });
  assert.deepEqual(looks[1], { colour: devices[1].colour, shape: devices[1].shape, ring: { colour: devices[0].colour, pattern: "solid" } });
  assert.equal(looks[2].shape, SPLIT_LOOK.shape);
  assert.equal(movePicture(placed([1]), placed([0]), [{ group: 0 }], devices, []).picture.looks[0].ring?.pattern, "dashed", "the pattern too tells the device before");
});

test("the graph of differences has the stripes of split groups, a ring where one was split, and the edges that their parts cut", () => {
  const devices = deviceLooks([0, 1].map((index) => ({ name: `/device:GPU:${index}`, kind: "K80", class: "GPU", memory_bytes: 1 })));
  const edges = [[0, 1, 50], [1, 2, 40]].map(([source, target, bytes]) => ({ source, target, bytes }));
  const [before, after] = [new Step(bytes({}, of([0, 1, 0, 1, 0], [[1, 2]]))), new Step(bytes({}, of([0, 1, 1, 0, 0], [[1, 3]])))];
  const groupOfOp = [0, 0, 1, 1, 2];
  const sides = {
    before: sideOf({ words: "one", placement: [-1, -1, 0] }, before, groupOfOp),
    after: sideOf({ words: "other", placement: [-1, -1, 0] }, after, groupOfOp),
  };
  const { picture, lit, litEdges } = movePicture(sides.before, sides.after, [{ group: 1 }], devices, edges);
  const looks = Array.from(picture.lookOf, (look) => picture.looks[look]);
  const stripes = [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1].map((device) => devices[device].colour);
  assert.deepEqual([...lit], [0, 1, 0]);
  assert.deepEqual(looks[0], { ...SPLIT_LOOK, stripes });
  assert.deepEqual(looks[1], { ...SPLIT_LOOK, stripes, ring: { colour: "--text", pattern: "solid" } });
  assert.deepEqual([picture.cut, [...litEdges]], [new Set([1]), [0, 0]], "both cut the same edge between groups");
  const whole = sideOf({ words: "whole", placement: [0, 0, 0] }, new Step(bytes({}, of([0, 0, 0, 0, 0], []))), groupOfOp);
  assert.equal(whole.step, null);
  const moved = movePicture(whole, sides.after, movesBetween(whole.placement, sides.after.placement), devices, edges);
  assert.deepEqual([...moved.litEdges], [1, 0]);
  assert.deepEqual(moved.picture.looks[moved.picture.lookOf[0]], { ...SPLIT_LOOK, stripes, ring: { colour: devices[0].colour, pattern: "solid" } });
  const back = movePicture(sides.after, whole, movesBetween(sides.after.placement, whole.placement), devices, edges);
  assert.deepEqual(back.picture.looks[back.picture.lookOf[0]], { colour: devices[0].colour, shape: devices[0].shape, ring: { colour: "--text", pattern: "solid" } });
});

/**
 * Arrays of a step of five ops of 10 µs.
 *
 * @param {number[]} devices [ops]
 * @param {number[][]} cuts pairs of ops
 */
function of(devices, cuts) {
  const ends = (/** @type {number} */ end) => Int32Array.from(cuts, (cut) => cut[end]);
  return {
    "op.device": Int32Array.from(devices),
    "op.start_us": new Float64Array(5),
    "op.end_us": new Float64Array(5).fill(10),
    "op.slack_us": new Float64Array(5),
    "op.peak_share": new Float64Array(5),
    "chain.activity": new Int32Array(3),
    "cut.source": ends(0),
    "cut.target": ends(1),
    "cut.bytes": Float64Array.from(cuts, () => 8),
  };
}

test("the differences of all causes, and of all parts of each device, add up to that of the step times", () => {
  const [before, after] = [new Step(ON_ONE), new Step(bytes())];
  const sum = (/** @type {{ us: number }[]} */ parts) => parts.reduce((total, { us }) => total + us, 0);
  assert.equal(sum(causeParts(before, after)), 5);
  assert.deepEqual(deviceParts(before, after).map(sum), [5, 5]);
  assert.deepEqual(
    deviceParts(before, after)[1].filter(({ us }) => us !== 0).map(({ name, us }) => [name, us]),
    [["busy", 20], ["input", 10], ["link", 5], ["end", -30]],
  );
  assert.equal(
    differenceSentence([{ group: 1, from: 0, to: 1 }], before, after),
    "1 group moved: 30.00 µs → 35.00 µs (17 % slower), simulated. On the critical chain: transfer +5.00 µs.",
  );
});

test("moves back are asked for in parts, the longest groups first, until nobody wants more", async () => {
  const moves = Array.from({ length: 300 }, (_, group) => ({ group, from: group % 2, to: 1 - (group % 2) }));
  const order = inOrder([...moves, { group: 300, from: -1, to: 0 }], (group) => group);
  assert.deepEqual([order.length, order[0].group], [300, 299]);
  /** @type {number[]} */
  const sizes = [];
  const ask = async (/** @type {ArrayLike<number>} */ _, /** @type {number[]} */ groups, /** @type {number[]} */ to) => {
    sizes.push(groups.length);
    const row = (/** @type {number} */ index) => [0, 1].map((device) => (device === to[index] ? groups[index] : null));
    return { step_time_us: groups.map((_group, index) => row(index)), missing_bytes: groups.map(() => [0, 7]) };
  };
  let known = new Map();
  await askBacks(ask, [], order, (backs) => {
    known = backs;
    return sizes.length < 2;
  });
  assert.deepEqual(sizes, [128, 128]);
  assert.deepEqual([known.size, known.get(299), known.get(298)], [256, { stepTimeUs: 299, missingBytes: 7 }, { stepTimeUs: 298, missingBytes: 0 }]);
});

test("rows are sorted by a column, those without a value last, ties in their order", () => {
  const rows = [{ name: "b", us: 2 }, { name: "a10", us: null }, { name: "a9", us: 3 }, { name: "c", us: 2 }];
  const names = (/** @type {{ name: string }[]} */ all) => all.map(({ name }) => name).join(" ");
  assert.equal(names(sorted(rows, ({ us }) => us, true)), "a9 b c a10");
  assert.equal(names(sorted(rows, ({ us }) => us, false)), "b c a9 a10");
  assert.equal(names(sorted(rows, ({ name }) => name, false)), "a9 a10 b c");
});

test("a difference of times has a sign", () => {
  assert.deepEqual([1200, -0.5, 0, 1e-9, null].map((us) => formatTimeChange(us)), ["+1.20 ms", "−0.50 µs", "0 µs", "0 µs", "–"]);
});

test("a row of a method is set against one device and the bound; a baseline without figures has none", () => {
  const row = { url: "/runs/1/", method: "heft", label: "HEFT", policy: "", runs: 2, seed: 3, evaluations: 10, step_time_us: 80, peak_bytes: [5, 2048], wall_seconds: 2 };
  const cluster = { words: "2 × K80", links: "", drop_devices: true, devices: ["a", "b"], one_device_us: 100, lower_bound_us: 64, rows: [row] };
  const values = Object.fromEntries(columnsOf(cluster).map(({ key, valueOf }) => [key, valueOf(row)]));
  assert.deepEqual([values.method, values.time, values.bound, values.peak, values.seed], ["HEFT", 80, 0.25, 2048, 3]);
  assert.ok(Math.abs(Number(values.gap) + 0.2) < 1e-12);
  const bare = columnsOf({ ...cluster, one_device_us: null, lower_bound_us: null }).map(({ valueOf }) => valueOf({ ...row, peak_bytes: null, wall_seconds: null, seed: null }));
  assert.deepEqual(bare, ["HEFT", 80, null, null, null, 10, null, null]);
  assert.equal(clusterTitle(cluster), "2 × K80 · device placements stored in the file ignored");
});
