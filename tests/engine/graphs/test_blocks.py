"""The tree of blocks: every op once, blocks as people read names, folds of what is equal and of nothing else."""

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.graphs.blocks import LEAST_FOLDED, MOST_DEPTH, ROOT, BlockTree, beside_their_use, block_tree, mark_of

Edges = Sequence[tuple[int, int]]


def tree_of(names: Sequence[str], edges: Edges = (), kinds: Sequence[str] = ()) -> BlockTree:
    marks = mark_of(np.array(kinds or [""] * len(names)))
    source, target = np.array(edges, dtype=np.int32).reshape(-1, 2).T
    return block_tree(names, marks, np.ones(len(names)), source, target)


def drawn(tree: BlockTree, block: int = ROOT) -> Any:
    """Nested: the name of an op, or (name, what is in it) of a block."""
    return [
        tree.op_names[item - tree.block_count] if item >= tree.block_count else (tree.names[item], drawn(tree, item))
        for item in tree.children_of(block).tolist()
    ]


def layers(count: int, parts: str = "ab") -> tuple[list[str], list[tuple[int, int]]]:
    """A chain of equal layers, each a chain of ops."""
    names = [f"net/layer_{layer}/{part}" for layer in range(count) for part in parts]
    return ["x", *names], [(op, op + 1) for op in range(len(names))]


def test_scopes_around_one_thing_are_a_part_of_its_name_and_an_op_lies_in_the_scope_of_its_name() -> None:
    names = ["in", "a/b/c/x", "a/b/c/y", "a/b/c", "d/e/one", "a/z"]
    tree = tree_of(names, [(0, 1), (1, 2), (2, 3), (3, 5), (5, 4)], list("klmnop"))
    assert drawn(tree) == ["in", ("a", [("b/c", ["x", "y", "c"]), "z"]), "d/e/one"]


@pytest.mark.parametrize("head", [False, True])
def test_equal_layers_are_folded_in_their_order(head: bool) -> None:
    names, edges = layers(12)
    kinds = ["in", *["a", "b"] * 12]
    if head:
        names, edges, kinds = [*names, "net/head"], [*edges, (24, 25)], [*kinds, "head"]
    tree = tree_of(names, edges, kinds)
    ((name, inside),) = drawn(tree)[1:]
    assert name == "net"
    if head:
        (fold, inside), last = inside
        assert (fold, last) == ("layer_0 … layer_11", "head")
    assert [member for member, _ in inside] == [f"layer_{layer}" for layer in range(12)], "with nothing else: the block"
    assert tree.is_fold.sum() == 1
    number = int(np.flatnonzero(tree.is_fold)[0])
    assert tree.order[tree.first[number] : tree.end[number]].tolist() == list(range(1, 25)), "member by member"


@pytest.mark.parametrize("change", ["op", "edge", "both alike"])
def test_a_layer_that_differs_stays_out_of_the_fold(change: str) -> None:
    names, edges = layers(9, "abc")
    kinds = ["in", *["a", "b", "b"] * 9]
    if change == "op":
        kinds[-1] = "other"
    elif change == "edge":
        edges.append((len(names) - 3, len(names) - 1))
    else:
        names.append("net/layer_8/d")
        kinds.append("b")
        edges.append((len(names) - 3, len(names) - 1))
    ((_, inside),) = drawn(tree_of(names, edges, kinds))[1:]
    assert [row[0] for row in inside] == ["layer_0 … layer_7", "layer_8"]


def test_neighbours_alone_are_folded_and_two_are_no_fold() -> None:
    tree = tree_of(["a", "b", "other", "c", "d"], [(0, 1), (1, 2), (2, 3), (3, 4)], ["k", "k", "o", "k", "k"])
    assert drawn(tree) == ["a", "b", "other", "c", "d"]


def test_weights_decide_where_a_block_stands() -> None:
    names = ["a/work", "a/update", "b/work", "b/more"]
    edges = [(0, 2), (2, 3), (3, 1)]
    source, target = np.array(edges, dtype=np.int32).T
    for weights, first in (([9.0, 0.1, 9.0, 9.0], "a"), ([0.1, 9.0, 9.0, 9.0], "b")):
        tree = block_tree(names, mark_of(np.array(["k", "l", "m", "n"])), np.array(weights), source, target)
        assert drawn(tree)[0][0] == first


def test_deep_and_odd_names_end() -> None:
    deep = "/".join("d" * 400)
    names = [deep, f"{deep}/x", "/", "//", "a//b", "a//c", "/x", "…"]
    tree = tree_of(names)
    assert sorted(tree.order.tolist()) == list(range(len(names)))
    depth, block = 0, int(tree.parent[-1])
    while block > 0:
        depth, block = depth + 1, int(tree.parent[block])
    assert depth <= MOST_DEPTH


@st.composite
def named_graphs(draw: st.DrawFn) -> tuple[list[str], list[tuple[int, int]], list[str]]:
    """Unique names from few parts, so that blocks nest and repeat; edges lead from lower to higher ops."""
    rng = Random(draw(st.integers(0, 10**9)))
    count = draw(st.integers(1, 40))
    names: dict[str, None] = {}
    for op in range(count):
        parts = [rng.choice("pqr") for _ in range(rng.randrange(4))]
        names["/".join([*parts, rng.choice(["x", "y", f"op{op}"])])] = None
    found = list(names)
    edges = {(rng.randrange(op), op) for op in range(1, len(found)) for _ in range(rng.randrange(3))}
    return found, sorted(edges), [rng.choice("kl") for _ in found]


@given(named_graphs())
def test_the_tree_holds_every_op_once_below_its_names(
    graph: tuple[list[str], list[tuple[int, int]], list[str]],
) -> None:
    names, edges, kinds = graph
    tree = tree_of(names, edges, kinds)
    assert sorted(tree.order.tolist()) == list(range(len(names)))
    assert (tree.first[0], tree.end[0], tree.parent[0]) == (0, len(names), -1)
    assert all(0 <= tree.parent[block] < block for block in range(1, tree.block_count))
    place = {op: index for index, op in enumerate(tree.order.tolist())}
    for block in range(tree.block_count):
        at = tree.first[block]
        for item in tree.children_of(block).tolist():
            begin, end = ends_of(tree, item, place)
            assert begin == at and begin < end
            at = end
        assert at == tree.end[block]
        if tree.is_scope[block]:
            path = "/".join(path_of(tree, block))
            inside = {names[op] for op in tree.order[tree.first[block] : tree.end[block]].tolist()}
            below = {name for name in names if not path or name == path or name.startswith(f"{path}/")}
            assert inside == below, "a block has the ops whose names begin with its path"


@given(named_graphs())
def test_folds_hold_equal_neighbours_and_all_of_them(graph: tuple[list[str], list[tuple[int, int]], list[str]]) -> None:
    names, edges, kinds = graph
    tree = tree_of(names, edges, kinds)
    looks = Looks(tree, edges, kinds)
    for block in range(tree.block_count):
        inside = [looks.of(item) for item in tree.children_of(block).tolist()]
        if tree.is_fold[block]:
            assert len(inside) >= LEAST_FOLDED and len(set(inside)) == 1
            assert block != ROOT
        else:
            runs = zip(*(inside[shift:] for shift in range(LEAST_FOLDED)), strict=False)
            assert all(len(set(run)) > 1 for run in runs), "three equal neighbours are folded"


def ends_of(tree: BlockTree, item: int, place: dict[int, int]) -> tuple[int, int]:
    if item < tree.block_count:
        return int(tree.first[item]), int(tree.end[item])
    return place[item - tree.block_count], place[item - tree.block_count] + 1


def path_of(tree: BlockTree, block: int) -> list[str]:
    path: list[str] = []
    while block != ROOT:
        if tree.is_scope[block]:
            path.insert(0, tree.names[block])
        block = int(tree.parent[block])
    return path


class Looks:
    """What each item is, written out: nothing is hashed but what it is made of."""

    def __init__(self, tree: BlockTree, edges: Edges, kinds: Sequence[str]) -> None:
        self.tree, self.edges, self.kinds = tree, edges, kinds

    def of(self, item: int) -> Any:
        """Nothing is equal to a fold that is no scope."""
        tree = self.tree
        if item >= tree.block_count:
            return self.kinds[item - tree.block_count]
        if not tree.is_scope[item]:
            return "fold", item
        return self._of_block(item)

    def _of_block(self, block: int) -> Any:
        """Its parts and the edges in it that are in no part."""
        parts = self._parts(block)
        part_of = {op: index for index, part in enumerate(parts) for op in self._ops(part)}
        between = [
            (self.kinds[one], self.kinds[other])
            for one, other in self.edges
            if one in part_of and other in part_of and part_of[one] != part_of[other]
        ]
        of_parts = [
            self.kinds[part - self.tree.block_count] if part >= self.tree.block_count else self._of_block(part)
            for part in parts
        ]
        return frozenset(Counter(of_parts).items()), frozenset(Counter(between).items())

    def _parts(self, block: int) -> list[int]:
        """The items in it, those of folds too."""
        found: list[int] = []
        for item in self.tree.children_of(block).tolist():
            is_no_scope = item < self.tree.block_count and not self.tree.is_scope[item]
            found += self._parts(item) if is_no_scope else [item]
        return found

    def _ops(self, item: int) -> list[int]:
        tree = self.tree
        if item >= tree.block_count:
            return [item - tree.block_count]
        ops: list[int] = tree.order[tree.first[item] : tree.end[item]].tolist()
        return ops


def test_a_scope_of_variables_alone_stands_in_the_layer_that_uses_it() -> None:
    names = ["dense/kernel", "dense_1/MatMul", "decay/Mul", "dense_2/MatMul", "shared/kernel", "alone/x", "step"]
    works = np.array([name.endswith("Mul") for name in names])
    edges = [(0, 2), (0, 1), (1, 3), (4, 3), (3, 2)]
    source, target = np.array(edges, dtype=np.int32).T
    found = beside_their_use(names, works, source, target)
    expected = {"dense/kernel": "dense_1/dense/kernel", "shared/kernel": "dense_2/shared/kernel"}
    assert found == [expected.get(name, name) for name in names]
    assert beside_their_use(names[:1], works[:1], source[:0], target[:0]) == names[:1]
