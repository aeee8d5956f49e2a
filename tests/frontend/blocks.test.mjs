// Blocks in the browser: what is seen, where it is, what it adds up to. Sums beside slow twins that go op by op.
import assert from "node:assert/strict";
import test from "node:test";

import { bundlesOf, crossingBytes } from "../../frontend/js/blocks/block-edges.js";
import { blockLayout, BLOCK, HEAD } from "../../frontend/js/blocks/block-layout.js";
import { between, folded, showing } from "../../frontend/js/blocks/block-motion.js";
import { mainLook, membersOf, sharesOf, timesOf } from "../../frontend/js/blocks/block-shares.js";
import { BlockTree, groupsOf, leafOfOps } from "../../frontend/js/blocks/block-tree.js";
import { firstPicture } from "../../frontend/js/blocks/first-picture.js";
import { nextBlock } from "../../frontend/js/blocks/next-block.js";

/** @typedef {import("../../frontend/js/ui/contracts.js").BlockRow} BlockRow */

/**
 * @param {Partial<BlockRow>} row
 * @returns {BlockRow}
 */
function row(row) {
  return { block: null, op: null, name: "", whole_name: "", members: 0, first: 0, ops: 1, types: [], output_bytes: 0, persistent_bytes: 0, strip: 0, x: 0, y: 0, ...row };
}

/** Nine ops in the order of blocks: block 1 has ops 4 and 0, block 2 with block 3 (ops 1 to 3) and op 5, then ops 6 to 8. */
const ORDER = [4, 0, 1, 2, 3, 5, 6, 7, 8];
const ROOT = { block: 0, path: [], is_drawn: true, strips: 2, children: [
  row({ block: 1, first: 0, ops: 2 }),
  row({ block: 2, first: 2, ops: 4, y: 1 }),
  row({ op: 6, first: 6, y: 2 }),
  row({ op: 7, first: 7, strip: 1, y: 1 }),
  row({ op: 8, first: 8, strip: 1, x: 1, y: 1 }),
] };
const SECOND = { block: 2, path: ["b"], is_drawn: true, strips: 1, children: [row({ block: 3, first: 2, ops: 3, members: 3 }), row({ op: 5, first: 5, x: 1 })] };
const THIRD = { block: 3, path: ["b"], is_drawn: true, strips: 1, children: [1, 2, 3].map((op, index) => row({ op, first: 2 + index, x: index })) };

/** @param {number[]} open */
function treeWith(open) {
  const tree = new BlockTree(ROOT);
  [SECOND, THIRD].forEach((each) => tree.know(each));
  tree.show(open);
  return tree;
}

/** @param {number} seed */
function randomOf(seed) {
  let state = seed;
  return (/** @type {number} */ below) => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return Math.floor((state / 2147483648) * below);
  };
}

test("what is seen is what open blocks hold; what is in a closed one is not", () => {
  assert.deepEqual(treeWith([]).leaves().map(({ key }) => key), [1, 2, -7, -8, -9]);
  assert.deepEqual(treeWith([2]).leaves().map(({ key }) => key), [1, 3, -6, -7, -8, -9]);
  assert.deepEqual(treeWith([2, 3]).leaves().map(({ key }) => key), [1, -2, -3, -4, -6, -7, -8, -9]);
  assert.deepEqual(treeWith([3]).leaves().map(({ key }) => key), [1, 2, -7, -8, -9], "its block is closed");
  assert.deepEqual(treeWith([2, 3, 99]).open, [2, 3]);
});

test("every op is in one leaf", () => {
  for (const open of [[], [2], [2, 3]]) {
    const leaves = treeWith(open).leaves();
    const leafOf = leafOfOps(leaves, ORDER);
    leaves.forEach(({ first, end }, leaf) => {
      assert.deepEqual([...leafOf.keys()].filter((op) => leafOf[op] === leaf), ORDER.slice(first, end).sort((one, other) => one - other));
    });
  }
});

test("the groups of a block are those with most of their ops in it", () => {
  const graph = { order: ORDER, group: [0, 1, 1, 0, 0, 2, 2, 2, 3] };
  const groups = [{ ops: 3 }, { ops: 2 }, { ops: 3 }, { ops: 1 }];
  const node = (/** @type {number} */ key) => /** @type {import("../../frontend/js/blocks/block-tree.js").BlockNode} */ (treeWith([2, 3]).node(key));
  assert.deepEqual(groupsOf(node(1), graph, groups), { own: [0], others: 0 });
  assert.deepEqual(groupsOf(node(2), graph, groups), { own: [1], others: 2 });
  assert.deepEqual(groupsOf(node(-6), graph, groups), { own: [2], others: 0 }, "else the one that it is in");
});

test("bundles have the bytes of their edges, an output once for each leaf, and those between devices apart", () => {
  const random = randomOf(7);
  for (let round = 0; round < 30; round += 1) {
    const [ops, leaves] = [4 + random(20), 2 + random(5)];
    const leafOf = Int32Array.from({ length: ops }, () => random(leaves));
    const deviceOf = Int32Array.from({ length: ops }, () => random(3));
    const edges = Array.from({ length: 3 * ops }, () => {
      const source = random(ops - 1);
      const target = source + 1 + random(ops - source - 1);
      return random(5) === 0 ? { source, target, output: -1, bytes: 0 } : { source, target, output: 2 * source + random(2), bytes: 1 + random(3) };
    }).sort((one, other) => (one.output < 0 ? 1e9 : one.output) - (other.output < 0 ? 1e9 : other.output));
    const column = (/** @type {"source" | "target" | "output" | "bytes"} */ name) => Float64Array.from(edges, (edge) => edge[name]);
    const graph = /** @type {any} */ ({ source: column("source"), target: column("target"), output: column("output"), bytes: column("bytes") });
    const bundles = bundlesOf(graph, leafOf, leaves);
    const crossing = crossingBytes(graph, bundles, deviceOf);
    bundles.bytes.forEach((bytes, bundle) => {
      const inside = edges.filter(({ source, target }) => leafOf[source] === bundles.source[bundle] && leafOf[target] === bundles.target[bundle]);
      const largest = (/** @type {typeof edges} */ of) => [...new Set(of.map(({ output }) => output))]
        .reduce((sum, output) => sum + Math.max(...of.filter((edge) => edge.output === output).map((edge) => edge.bytes)), 0);
      assert.ok(inside.length > 0);
      assert.equal(bytes, largest(inside));
      const between = inside.filter(({ source, target, output }) => output >= 0 && deviceOf[source] !== deviceOf[target]);
      assert.equal(crossing[bundle], between.length === 0 ? -1 : largest(between));
    });
    const pairs = new Set(edges.filter(({ source, target }) => leafOf[source] !== leafOf[target]).map(({ source, target }) => `${leafOf[source]} ${leafOf[target]}`));
    assert.equal(bundles.bytes.length, pairs.size);
  }
});

test("shares are by time, and by number where nothing takes time", () => {
  const lookOf = [0, 1, 1, 0, 2, 1, 0, 0, 0];
  const timeUs = [1, 2, 3, 4, 5, 6, 0, 0, 0];
  const [one, two, none] = sharesOf([{ first: 0, end: 2 }, { first: 2, end: 6 }, { first: 6, end: 9 }], ORDER, lookOf, timeUs, 3);
  assert.deepEqual(one, [{ look: 0, share: 1 / 6, timeUs: 1 }, { look: 2, share: 5 / 6, timeUs: 5 }]);
  assert.deepEqual(two, [{ look: 0, share: 4 / 15, timeUs: 4 }, { look: 1, share: 11 / 15, timeUs: 11 }]);
  assert.deepEqual(none, [{ look: 0, share: 1, timeUs: 0 }]);
  assert.deepEqual([one, two, none].map(mainLook), [2, 1, 0]);
  assert.deepEqual(timesOf([{ first: 0, end: 2 }, { first: 2, end: 6 }, { first: 6, end: 9 }], ORDER, timeUs), [6, 15, 0]);
  const fold = /** @type {any} */ (treeWith([2]).node(3));
  assert.deepEqual(membersOf(fold), [{ first: 2, end: 3 }, { first: 3, end: 4 }, { first: 4, end: 5 }]);
  assert.deepEqual(membersOf(/** @type {any} */ (treeWith([]).node(1))), []);
});

test("blocks lie beside each other, and what is in an open one lies in it below its head", () => {
  for (const open of [[], [2], [2, 3]]) {
    const tree = treeWith(open);
    const { places, width, height } = blockLayout(tree.roots);
    const nodes = [...tree.nodes];
    const placeOf = (/** @type {number} */ key) => /** @type {import("../../frontend/js/blocks/block-layout.js").Rectangle} */ (places.get(key));
    for (const node of nodes) {
      const place = placeOf(node.key);
      const around = node.parent ? placeOf(node.parent.key) : { x: 0, y: -HEAD, width, height: height + HEAD };
      assert.ok(place.x >= around.x - 1e-6 && place.x + place.width <= around.x + around.width + 1e-6, `${open}: ${node.key}`);
      assert.ok(place.y >= around.y + HEAD - 1e-6 && place.y + place.height <= around.y + around.height + 1e-6, `${open}: ${node.key}`);
      for (const other of nodes.filter((each) => each !== node && each.parent === node.parent)) {
        const beside = placeOf(other.key);
        const isApart = place.x + place.width <= beside.x || beside.x + beside.width <= place.x || place.y + place.height <= beside.y || beside.y + beside.height <= place.y;
        assert.ok(isApart, `${open}: ${node.key} covers ${other.key}`);
      }
    }
  }
  const closed = blockLayout(treeWith([]).roots).places.get(2);
  assert.equal(closed?.width, BLOCK.width);
});

test("what a block holds comes out of where the block was", () => {
  const [closed, opened] = [{ x: 10, y: 10, width: 100, height: 50 }, { x: 0, y: 0, width: 400, height: 200 }];
  assert.deepEqual(folded(opened, opened, closed), closed);
  assert.deepEqual(folded({ x: 200, y: 100, width: 40, height: 20 }, opened, closed), { x: 60, y: 35, width: 10, height: 5 });
  assert.deepEqual(between(closed, opened, 1), opened);
  assert.deepEqual(between(closed, opened, 0), closed);
});

test("a block that is opened is brought onto the canvas", () => {
  const canvas = { width: 500, height: 300 };
  const view = { zoom: 1, x: 0, y: 0 };
  assert.deepEqual(showing(view, { x: 50, y: 50, width: 100, height: 100 }, canvas, 20), view, "it is there already");
  const right = showing(view, { x: 450, y: 50, width: 100, height: 100 }, canvas, 20);
  assert.equal(right.x + 450 + 100, 480);
  const large = showing(view, { x: 0, y: 0, width: 920, height: 100 }, canvas, 20);
  assert.equal(large.zoom, 0.5);
  assert.equal(large.x, 20);
});

test("arrow keys lead to the nearest block that way", () => {
  const place = (/** @type {number} */ x, /** @type {number} */ y) => ({ x, y, width: 10, height: 10 });
  /** @type {[number, ReturnType<typeof place>][]} */
  const places = [[1, place(100, 0)], [2, place(40, 60)], [3, place(-50, 5)], [4, place(0, -80)]];
  const to = (/** @type {string} */ arrow) => nextBlock(arrow, place(0, 0), places);
  assert.deepEqual(["ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"].map(to), [1, 2, 3, 4]);
  assert.equal(nextBlock("ArrowUp", place(0, -200), places), null);
});

test("a graph with scopes reads by its blocks, another one by its groups", () => {
  const named = (/** @type {string[]} */ ...names) => names.map((name) => ({ name: "x", short_name: name }));
  assert.equal(firstPicture(named("conv/a", "dense/b", "loss")), "blocks");
  assert.equal(firstPicture(named("a", "b", "c", "d/e", "f/g")), "groups");
  assert.equal(firstPicture(named("net/a", "net/b")), "groups", "one scope around all tells nothing");
  assert.equal(firstPicture([]), "groups");
});
