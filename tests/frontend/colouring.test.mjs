// What nodes are coloured by, the steps of a legend, names that tell nodes apart, and places for them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { COLOURINGS, colouring, SPLIT } from "../../frontend/js/graph/colouring.js";
import { costFacts } from "../../frontend/js/graph/cost-facts.js";
import { deviceLooks } from "../../frontend/js/graph/devices.js";
import { freeBoxes } from "../../frontend/js/graph/free-boxes.js";
import { nodeNames } from "../../frontend/js/graph/node-names.js";
import { bounds, stepOf, stepWords } from "../../frontend/js/graph/scale-steps.js";
import { checkedPath, crumbsOf, scopeAddress } from "../../frontend/js/graph/scope-path.js";
import { smallFans } from "../../frontend/js/graph/small-fans.js";
import { bestGains } from "../../frontend/js/step/gains.js";

const DEVICES = ["/device:GPU:0", "/device:GPU:1"].map((name) => ({ name, kind: "K80", class: "GPU", memory_bytes: 1 }));

/**
 * @param {Partial<import("../../frontend/js/graph/colouring.js").Facts>} [known]
 * @returns {import("../../frontend/js/graph/colouring.js").Facts}
 */
function facts(known = {}) {
  const looks = deviceLooks(DEVICES);
  return { placement: null, looks, timeUs: null, bytes: [0, 5, 5e6], step: null, gainShare: null, costs: null, ...known };
}

/**
 * @param {string} key
 * @param {Partial<import("../../frontend/js/graph/colouring.js").Facts>} [known]
 */
function words(key, known) {
  const { lookOf, legend } = colouring(key, facts(known), 3);
  return Array.from(lookOf, (look) => legend.find((entry) => entry.look === look)?.words);
}

test("nodes have the look of their device; one on several is shown as such", () => {
  assert.deepEqual(words("device", { placement: [0, 1, SPLIT] }), ["GPU 0", "GPU 1", "on several devices"]);
  const [one, other] = [[0, 0, 0], [1, 0, SPLIT]].map((placement) => colouring("device", facts({ looks: LOOKS, placement }), 3));
  assert.equal(one.looks, other.looks, "the same array: nothing is styled again");
});

test("a node on several devices has a stripe for each, once the step says which", () => {
  const none = new Float64Array(3);
  const stepOf = (/** @type {number[]} */ times) => {
    const parts = new Map([[1, times.map((timeUs, device) => ({ device, ops: 1, timeUs }))]]);
    return { deviceOf: Int32Array.of(0, SPLIT, SPLIT), deviceOfOp: null, cut: null, parts, slackUs: none, chainUs: none, peakShare: none };
  };
  const step = stepOf([1, 1]);
  const placement = [0, SPLIT, SPLIT];
  assert.deepEqual(words("device", { placement, step }), ["GPU 0", "on several devices, by time", "on several devices"]);
  const stripes = (/** @type {number[]} */ times) => {
    const { looks, lookOf } = colouring("device", facts({ placement, step: stepOf(times) }), 3);
    return LOOKS.slice(0, times.length).map(({ colour }) => looks[lookOf[1]].stripes?.filter((each) => each === colour).length);
  };
  assert.deepEqual(stripes([1, 1]), [6, 6]);
  assert.deepEqual(stripes([3, 1]), [9, 3], "as wide as its share");
  assert.deepEqual(stripes([1000, 1]), [11, 1], "a thin one is a mark");
  assert.deepEqual(stripes([0, 0]), [6, 6], "ops that take no time");
});

const LOOKS = deviceLooks(DEVICES);

test("what is not known yet makes no picture up", () => {
  for (const key of Object.keys(COLOURINGS).filter((name) => name !== "bytes")) {
    assert.equal(new Set(words(key)).size, 1, key);
    assert.match(String(words(key)[0]), /once playback stops/);
  }
});

test("each step of a quantity has its words, and every node its step", () => {
  assert.deepEqual(words("time", { timeUs: [0, 5, 5000] }), ["none", "< 100 µs", "≥ 3 ms"]);
  assert.deepEqual(words("bytes")[0], "none");
  const step = { deviceOf: Int32Array.of(0, 0, 0), deviceOfOp: null, cut: null, parts: new Map(), slackUs: Float64Array.of(0, 20, Infinity), chainUs: Float64Array.of(0, 7, 9), peakShare: Float64Array.of(0, 0.02, 0.9) };
  assert.deepEqual(words("critical", { step })[0], "not on the chain");
  assert.match(String(words("slack", { step })[0]), /^< /);
  assert.match(String(words("peak", { step })[2]), /^≥ 30 %/);
  assert.deepEqual(words("gain", { gainShare: [null, 0, 0.12] }), ["may not move", "no move helps by 0.1 % of the step", "≥ 10 % of the step"]);
});

test("a gain has the colour of its share of the step, however small the others are", () => {
  const looks = (/** @type {number[]} */ gainShare) => Array.from(colouring("gain", facts({ gainShare }), 3).lookOf);
  assert.deepEqual(looks([0.0002, 0.0009, 0.002]), [5, 5, 0], "0.1 % of the step is as good as nothing");
  assert.deepEqual(looks([0.002, 0.03, 0.2]), [0, 2, 4]);
});

test("steps rise by the same ratio up to the largest, at whatever size", () => {
  for (const most of [1e-6, 0.4, 1, 3, 999, 1000, 1e9]) {
    const edges = bounds(most, "us");
    assert.equal(edges.length, 4);
    assert.ok(edges.every((edge, index) => index === 0 || edge > edges[index - 1] * 2.9), String(edges));
    assert.equal(stepOf(most, edges), 4, String(most));
    assert.equal(stepOf(0, edges), 0);
  }
  assert.deepEqual(bounds(5 * 1024, "bytes"), [64, 256, 1024, 4096]);
  assert.equal(stepWords(1, [0.01, 0.03, 0.1, 0.3], "share"), "1 % to 3 %");
  const words = Array.from({ length: 5 }, (_, step) => stepWords(step, bounds(20, "us"), "us"));
  assert.deepEqual(words, ["< 0.3 µs", "0.3 µs to 1 µs", "1 µs to 3 µs", "3 µs to 10 µs", "≥ 10 µs"]);
});

test("a group's costs are from where those of most of its ops are; one op for a CPU is enough", () => {
  const costs = { sources: ["unknown", "given", "estimated"], source: [2, 2, 1, 0], cpu_only: [3], groups: [] };
  const found = costFacts(costs, [0, 0, 0, 1], 3);
  assert.deepEqual([...found.sourceOf], [2, 0, -1]);
  assert.deepEqual([...found.needsCpu], [0, 1, 0]);
  assert.deepEqual(words("cpu", { costs: found })[1], "some ops run on a CPU only");
  assert.match(String(words("source", { costs: found })[0]), /estimated/);
});

test("the best move of a group goes to another device where it fits", () => {
  const gains = { stepTimesUs: [[10, 7, 8], [10, 2, 9], [10, null, null], [10, 12, 14]], missingBytes: [[0, 5, 0], [0, 1, 0], [0, -1, -1], [0, 0, 0]] };
  assert.deepEqual(bestGains(gains, [0, 0, 0, 0], 10), [1 - 8 / 10, 1 - 9 / 10, null, 0]);
  assert.deepEqual(bestGains({ stepTimesUs: [[10, 3]], missingBytes: [[0, 9]] }, [0], 10), [0], "no fitting move helps");
});

test("names of nodes lose what all share, keep their ends, and stay different", () => {
  const blocks = [1, 2].map((block) => `model/block_${block}/conv`);
  assert.deepEqual(nodeNames(blocks), ["block_1/conv", "block_2/conv"]);
  assert.deepEqual(nodeNames(["model"]), ["model"]);
  assert.deepEqual(nodeNames(["a", "__proto__", "constructor"]), ["a", "__proto__", "constructor"]);
  const long = nodeNames(["x".repeat(100) + "1", "x".repeat(100) + "2"]);
  assert.ok(long.every((name) => name.length <= 26) && long[0] !== long[1], "cut in the middle");
});

test("a way to a scope from an address leads into scopes of its group, or nowhere", () => {
  assert.deepEqual(checkedPath(["2", "a/b", "a/b/c"], 3), ["2", "a/b", "a/b/c"]);
  for (const path of [[], ["3"], ["-1"], ["x"], ["2", "a", "b"], ["2", ""], ["2", "a", "ab"], ["__proto__"]]) {
    assert.deepEqual(checkedPath(path, 3), [], String(path));
  }
  const groups = /** @type {import("../../frontend/js/ui/contracts.js").Group[]} */ ([{ name: "<b>first" }]);
  const crumbs = crumbsOf(["0", "a/b", "a/b/c"], groups);
  assert.deepEqual(crumbs.map(({ words }) => words), ["Graph", "<b>first", "a/b", "c"]);
  assert.deepEqual(crumbs.map(({ path }) => path.length), [0, 1, 2, 3]);
  const short = crumbsOf(["0", "call/net/a", "call/net/a/b"], groups, { "call/net/a": "a", "call/net/a/b": "a/b" });
  assert.deepEqual(short.map(({ words }) => words), ["Graph", "<b>first", "a", "b"]);
  assert.equal(short[2].title, "call/net/a");
  assert.equal(scopeAddress("/scope.json", ["0", "a&group=9"]), "/scope.json?group=0&scope=a%26group%3D9");
});

test("small edges of a wide fan are left out; data and narrow fans are not", () => {
  const edge = (/** @type {number} */ source, /** @type {number} */ target, bytes = 4) => ({ source, target, bytes });
  const fan = Array.from({ length: 9 }, (_, index) => edge(0, index + 1));
  const { hidden, nodes } = smallFans([...fan, edge(1, 2), edge(0, 10, 5000), edge(3, 10)], 11);
  assert.deepEqual([...hidden], [...fan.map(() => 1), 0, 0, 0]);
  assert.deepEqual(nodes, [0]);
  const control = Array.from({ length: 8 }, (_, index) => edge(index, 9, 0));
  assert.deepEqual(smallFans(control, 10).nodes, [9], "incoming ones too");
  assert.equal(smallFans(control.slice(1), 10).hidden.includes(1), false);
});

test("labels cover neither nodes nor each other; the first wish that is free counts", () => {
  const at = (/** @type {number} */ x) => ({ x, y: 0, width: 40, height: 10 });
  assert.deepEqual(freeBoxes([at(0)], [[at(20), at(50)], [at(60), at(95)], [at(10)]]), [at(50), at(95), null]);
  const far = { x: -500, y: -500, width: 2000, height: 1 };
  assert.deepEqual(freeBoxes([far], [[{ ...far, y: -499.5 }], [{ ...far, y: -499 }]]), [null, { ...far, y: -499 }]);
});
