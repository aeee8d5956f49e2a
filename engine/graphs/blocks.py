"""The blocks of a graph: its layers and modules as a tree, from the names that people know its ops by.

A block is a scope of the short names (`engine/graphs/short_names.py`) with at least two things in it, ops or blocks; a
scope around one thing alone is a part of that thing's name. An op that has the name of a scope lies in it. Three or
more equal neighbours in one block, such as the 24 layers of a transformer, are a block of their own, a fold; where a
block has nothing else in it, it is the fold.

Equal are ops of one type with outputs and variables of the same size, and blocks that hold the same number of equal
things with the same edges between equal ops. Neighbours are next to each other along the data: by the mean place of
their ops, weighted by what the ops take, where each op is as late as its consumers allow. So the small ops that a
training step updates a layer's variables with do not move the layer to the end.

The ops of a block are next to each other in `BlockTree.order`, so that sums over blocks are differences. Everything
takes time in proportion to ops and edges, and to the depth of the names, which is bounded.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.graphs.ordering import levels

ROOT = 0
"""the block around all others"""
MOST_DEPTH = 32
"""parts of a name that are blocks: what is below them is one op's name"""
MOST_USES = 64
"""scopes that are looked at for the one that a variable belongs to"""
LEAST_FOLDED = 3
"""equal neighbours"""

ItemNumbers = NDArray[np.int64]
Marks = NDArray[np.uint64]
"""equal for what is equal"""


@dataclass(frozen=True, slots=True)
class BlockTree:
    """The blocks, numbered so that each comes before those in it, the root first. Arrays are read-only.

    An item is a block (its number) or an op (the number of blocks + its index).
    """

    order: NDArray[np.int32]
    """[ops] the ops, those of each block next to each other"""
    first: NDArray[np.int32]
    """[blocks] where the block's ops begin in `order`"""
    end: NDArray[np.int32]
    """[blocks] behind its last op"""
    parent: NDArray[np.int32]
    """[blocks] the block around it; −1 for the root"""
    is_fold: NDArray[np.bool_]
    """[blocks] whether all that is right in it is equal"""
    is_scope: NDArray[np.bool_]
    """[blocks] whether it has a scope of its own; else it is a fold of some neighbours in a scope"""
    names: tuple[str, ...]
    """[blocks] without the names of the blocks around it; of a fold without a scope those of its first and last item"""
    op_names: tuple[str, ...]
    """[ops] the same"""
    child_offset: NDArray[np.int32]
    """[blocks + 1] where the children of each block begin in `children`"""
    children: NDArray[np.int32]
    """items, in the order of their ops"""

    @property
    def block_count(self) -> int:
        """Number of blocks, with the root."""
        return len(self.first)

    def children_of(self, block: int) -> NDArray[np.int32]:
        """The items right in a block."""
        return self.children[self.child_offset[block] : self.child_offset[block + 1]]


def block_tree(
    short_names: Sequence[str],
    marks: Marks,
    weight: NDArray[np.float64],
    edge_source: NDArray[np.int32],
    edge_target: NDArray[np.int32],
) -> BlockTree:
    """The tree of a graph: the short names of its ops, what each op is (equal for equal ops), what it weighs in the
    place of a block (more than 0), and its edges.
    """
    scopes = _scopes(short_names)
    pairs = np.stack([edge_source, edge_target], axis=1).astype(np.int64)
    tree = _Items.of(scopes)
    equal = _marks_of_items(tree, marks, pairs)
    late = levels(pairs[:, ::-1], len(short_names))
    place = _sums(tree, (late.max() - late) * weight) / _sums(tree, weight)
    return _numbered(scopes, _folded(tree, equal, place))


def beside_their_use(
    short_names: Sequence[str], works: NDArray[np.bool_], edge_source: NDArray[np.int32], edge_target: NDArray[np.int32]
) -> list[str]:
    """The names with those scopes right in the graph where no op `works` [ops] put into a scope that uses them: the one
    whose name begins alike, or the first.

    Keras names a layer's variables `dense_5/kernel` and what the layer computes `dense_5_1/MatMul`.
    """
    outermost = [name.partition("/")[0] if "/" in name else "" for name in short_names]
    working = {outermost[op] for op in np.flatnonzero(works).tolist()}
    idle = {op for op, scope in enumerate(outermost) if scope and scope not in working}
    if not idle:
        return list(short_names)
    pairs = np.stack([edge_source, edge_target], axis=1).astype(np.int64)
    place = levels(pairs, len(short_names))
    users: dict[int, list[int]] = {}
    for one, other in pairs[np.isin(edge_source, list(idle))].tolist():
        users.setdefault(one, []).append(other)
    uses: dict[int, dict[str, int]] = {}  # of an op: scope → the place of the first op there that uses it
    for op in sorted(idle, key=lambda each: -int(place[each])):
        found: dict[str, int] = {}
        for user in users.get(op, ()):
            for scope, at in (uses[user] if user in idle else {outermost[user]: int(place[user])}).items():
                found[scope] = min(at, found.get(scope, at))
        nearest = sorted(found, key=lambda scope: (not scope.startswith(outermost[op]), found[scope]))
        uses[op] = {scope: found[scope] for scope in nearest[:MOST_USES] if scope}
    return [f"{next(iter(uses[op]))}/{name}" if uses.get(op) else name for op, name in enumerate(short_names)]


@dataclass(frozen=True, slots=True)
class _Scopes:
    """The scopes that are blocks, each behind those around it, with the names of all things in them."""

    parent: ItemNumbers
    """[scopes] −1 for the root"""
    of_op: ItemNumbers
    """[ops]"""
    names: list[str]
    op_names: list[str]


def _scopes(short_names: Sequence[str]) -> _Scopes:
    """Reads the names, which are untrusted text."""
    number = {"": ROOT}
    paths, around = [""], [-1]
    of_op = []
    for name in short_names:
        scope = _scope_of(name)
        if scope not in number:
            _add_scope(scope, number, paths, around)
        of_op.append(number[scope])
    for op, name in enumerate(short_names):
        of_op[op] = number.get(name, of_op[op]) if name else of_op[op]
    parent, inside = np.array(around, dtype=np.int64), np.array(of_op, dtype=np.int64)
    things = np.bincount(parent[1:], minlength=len(paths)) + np.bincount(inside, minlength=len(paths))
    holder = list(range(len(paths)))
    kept, rank = [ROOT], {ROOT: 0}
    for scope_number in range(1, len(paths)):
        if things[scope_number] > 1:
            rank[scope_number] = len(kept)
            kept.append(scope_number)
        else:
            holder[scope_number] = holder[around[scope_number]]
    names = [_below(paths[scope], paths[holder[around[scope]]]) if scope else "" for scope in kept]
    return _Scopes(
        parent=np.array([rank[holder[around[scope]]] if scope else -1 for scope in kept], dtype=np.int64),
        of_op=np.array([rank[holder[scope]] for scope in of_op], dtype=np.int64),
        names=names,
        op_names=[_below(name, paths[holder[scope]]) for name, scope in zip(short_names, of_op, strict=True)],
    )


def _scope_of(name: str) -> str:
    begin = name.rpartition("/")[0]
    return begin if begin.count("/") < MOST_DEPTH else "/".join(begin.split("/", MOST_DEPTH)[:MOST_DEPTH])


def _add_scope(scope: str, number: dict[str, int], paths: list[str], around: list[int]) -> None:
    """Add a scope, and those around it that are not there yet."""
    missing = []
    while scope not in number:
        missing.append(scope)
        scope = scope.rpartition("/")[0]
    for each in reversed(missing):
        around.append(number[scope])
        number[each] = len(paths)
        paths.append(each)
        scope = each


def _below(name: str, scope: str) -> str:
    """The name without the scope around it; an op with the name of its scope keeps its last part."""
    if name == scope:
        return name.rpartition("/")[2] or name
    return name[len(scope) + 1 :] if scope else name


@dataclass(frozen=True, slots=True)
class _Items:
    """Blocks, then ops, with their parents, and the items of each depth."""

    blocks: int
    parent: ItemNumbers
    """[items] −1 for the root"""
    at_depth: list[ItemNumbers]
    """[depths] the items, the root alone first"""

    @staticmethod
    def of(scopes: _Scopes) -> "_Items":
        return _Items.with_parents(len(scopes.parent), np.concatenate([scopes.parent, scopes.of_op]))

    @staticmethod
    def with_parents(blocks: int, parent: ItemNumbers) -> "_Items":
        depth = np.zeros(len(parent), dtype=np.int64)
        above = parent.copy()
        while (above >= 0).any():
            depth += above >= 0
            above = np.where(above >= 0, parent[above], -1)
        ordered = np.argsort(depth, kind="stable")
        cuts = np.cumsum(np.bincount(depth))[:-1]
        return _Items(blocks, parent, [np.asarray(each) for each in np.split(ordered, cuts)])

    @property
    def depth(self) -> ItemNumbers:
        """[items] how many blocks are around each."""
        depth = np.empty(len(self.parent), dtype=np.int64)
        for number, items in enumerate(self.at_depth):
            depth[items] = number
        return depth


def _sums(tree: _Items, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """[items] the sums over the ops in each; `values` [ops]."""
    sums = np.concatenate([np.zeros(tree.blocks), values])
    for items in reversed(tree.at_depth[1:]):
        np.add.at(sums, tree.parent[items], sums[items])
    return sums


def _mixed(values: Marks) -> Marks:
    """Values that are as good as random, equal for equal ones.

    Source: G. Steele, D. Lea, C. Flood, Fast splittable pseudorandom number generators, OOPSLA 2014, mix64.
    """
    mixed = values + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)), dtype=np.uint64)


def mark_of(*columns: NDArray[np.generic]) -> Marks:
    """[rows] a mark that equal rows of the columns share."""
    marks = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        _, number = np.unique(column, return_inverse=True)
        marks = _mixed(marks ^ _mixed(number.reshape(-1).astype(np.uint64)))
    return marks


def _marks_of_items(tree: _Items, marks: Marks, pairs: ItemNumbers) -> Marks:
    """[items] what each is: sums of what is in it and of the edges that are in it and in no block below."""
    found = np.concatenate([np.zeros(tree.blocks, dtype=np.uint64), _mixed(marks)])
    around = _lowest_around(tree, pairs + tree.blocks)
    edges = _mixed(marks[pairs[:, 0]] ^ _mixed(marks[pairs[:, 1]]))
    np.add.at(found, around, edges)
    for items in reversed(tree.at_depth[1:]):
        is_block = items < tree.blocks
        found[items[is_block]] = _mixed(found[items[is_block]] ^ np.uint64(1))
        np.add.at(found, tree.parent[items], found[items])
    return found


def _lowest_around(tree: _Items, pairs: ItemNumbers) -> ItemNumbers:
    """[pairs] the lowest block around both items."""
    depth = tree.depth
    one, other = tree.parent[pairs[:, 0]], tree.parent[pairs[:, 1]]
    while (one != other).any():
        deeper_one = depth[one] > depth[other]
        deeper_other = depth[other] > depth[one]
        apart = one != other
        one = np.where(apart & ~deeper_other, tree.parent[one], one)
        other = np.where(apart & ~deeper_one, tree.parent[other], other)
    return one


@dataclass(frozen=True, slots=True)
class _Folded:
    """The items with folds of their own behind the other blocks."""

    tree: _Items
    siblings: ItemNumbers
    """all items but the root, sorted as children"""
    ends: ItemNumbers
    """[folds of their own, 2] the first and last item in each"""
    whole: ItemNumbers
    """blocks that are folds, since they hold equal items alone"""


def _folded(tree: _Items, equal: Marks, place: NDArray[np.float64]) -> _Folded:
    items = np.arange(1, len(tree.parent))
    ordered = items[np.lexsort((items, equal[items], place[items], tree.parent[items]))]
    parent, mark = tree.parent[ordered], equal[ordered]
    begins = np.flatnonzero(np.append(True, (parent[1:] != parent[:-1]) | (mark[1:] != mark[:-1]))[: len(ordered)])
    lengths = np.diff(np.append(begins, len(ordered)))
    is_long = lengths >= LEAST_FOLDED
    around_runs = parent[begins]
    is_whole = is_long & (around_runs != ROOT) & (lengths == np.bincount(parent, minlength=tree.blocks)[around_runs])
    is_run = is_long & ~is_whole
    firsts, counts = begins[is_run], lengths[is_run]
    folds = len(firsts)
    shift = np.where(np.arange(len(tree.parent)) < tree.blocks, 0, folds)
    moved = np.arange(len(tree.parent)) + shift
    around = np.full(len(tree.parent) + folds, -1, dtype=np.int64)
    around[moved] = tree.parent
    fold_of_run = tree.blocks + np.arange(folds)
    around[fold_of_run] = parent[firsts]
    in_runs = np.repeat(firsts, counts) + _places_within(counts)
    around[moved[ordered[in_runs]]] = np.repeat(fold_of_run, counts)
    with_folds = np.insert(moved[ordered], firsts, fold_of_run)
    ends = np.stack([moved[ordered[firsts]], moved[ordered[firsts + counts - 1]]], axis=1)
    return _Folded(_Items.with_parents(tree.blocks + folds, around), with_folds, ends, around_runs[is_whole])


def _places_within(counts: ItemNumbers) -> ItemNumbers:
    """0 to count − 1 for each of the counts."""
    return np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)


def _numbered(scopes: _Scopes, folded: _Folded) -> BlockTree:
    """Number the blocks along `order`."""
    tree, siblings = folded.tree, folded.siblings
    ops = len(scopes.op_names)
    sizes = _sums(tree, np.ones(ops)).astype(np.int64)
    begin = np.zeros(len(tree.parent), dtype=np.int64)
    depth = tree.depth
    by_parent = siblings[np.argsort(tree.parent[siblings], kind="stable")]
    before = np.cumsum(sizes[by_parent]) - sizes[by_parent]
    parent = tree.parent[by_parent]
    opens = np.append(True, parent[1:] != parent[:-1])[: len(by_parent)]
    within = before - np.repeat(before[opens], np.diff(np.append(np.flatnonzero(opens), len(by_parent))))
    for level in range(1, len(tree.at_depth)):
        here = depth[by_parent] == level
        begin[by_parent[here]] = begin[parent[here]] + within[here]
    blocks = tree.blocks
    order = np.empty(ops, dtype=np.int32)
    order[begin[blocks:]] = np.arange(ops)
    old = np.lexsort((depth[:blocks], begin[:blocks]))
    new = np.empty(blocks, dtype=np.int64)
    new[old] = np.arange(blocks)
    number = np.concatenate([new, blocks + np.arange(ops)])
    names = _names(scopes, folded.ends)
    is_fold = np.arange(blocks) >= len(scopes.names)
    is_fold[folded.whole] = True
    of_blocks = tree.parent[old]
    in_order = by_parent[np.lexsort((begin[by_parent], new[parent]))]
    counts = np.bincount(new[parent], minlength=blocks)
    return _read_only(
        BlockTree(
            order=order,
            first=begin[old].astype(np.int32),
            end=(begin[old] + sizes[old]).astype(np.int32),
            parent=np.where(of_blocks >= 0, new[of_blocks], -1).astype(np.int32),
            is_fold=is_fold[old],
            is_scope=old < len(scopes.names),
            names=tuple(names[block] for block in old.tolist()),
            op_names=tuple(scopes.op_names),
            child_offset=np.append(0, np.cumsum(counts)).astype(np.int32),
            children=number[in_order].astype(np.int32),
        )
    )


def _names(scopes: _Scopes, ends_of_folds: ItemNumbers) -> list[str]:
    """[blocks] of the scopes, then of the folds."""
    folds = len(ends_of_folds)
    blocks = len(scopes.names)
    of_items = [*scopes.names, *([""] * folds), *scopes.op_names]
    return [*scopes.names, *(f"{of_items[one]} … {of_items[other]}" for one, other in ends_of_folds.tolist())][
        : blocks + folds
    ]


def _read_only(tree: BlockTree) -> BlockTree:
    for array in (tree.order, tree.first, tree.end, tree.parent, tree.is_fold, tree.is_scope):
        array.setflags(write=False)
    for array in (tree.child_offset, tree.children):
        array.setflags(write=False)
    return tree
