"""Small graphs and costs for the tests of this folder, written out or drawn at random."""

from collections.abc import Mapping, Sequence

import numpy as np
from hypothesis import strategies as st

from engine.costs.costs import Costs, CostSource
from engine.graphs.graph import CONTROL, ComputationGraph
from engine.graphs.grouping.grouping import Grouping

Edge = tuple[str, str] | tuple[str, str, int]


def make_graph(
    names: Sequence[str],
    edges: Sequence[Edge] = (),
    *,
    colocation: Mapping[str, Sequence[str]] | None = None,
    must_colocate: Sequence[tuple[str, str]] = (),
    devices: Mapping[str, str] | None = None,
) -> ComputationGraph:
    """A graph of ops called `names`; an edge is (source, target) or (source, target, output)."""
    index = {name: op for op, name in enumerate(names)}
    rows = sorted(
        ((index[edge[0]], index[edge[1]], edge[2] if len(edge) == 3 else 0) for edge in edges),
        key=lambda row: (row[1], row[0]),
    )
    columns = np.array(rows, dtype=np.int32).reshape(-1, 3)
    return ComputationGraph(
        name="sample",
        op_names=tuple(names),
        op_types=("",) * len(names),
        edge_source=columns[:, 0].copy(),
        edge_target=columns[:, 1].copy(),
        edge_output=columns[:, 2].copy(),
        devices=tuple((devices or {}).get(name, "") for name in names),
        colocation=tuple(tuple((colocation or {}).get(name, ())) for name in names),
        back_edges=np.empty((0, 2), dtype=np.int32),
        must_colocate=np.array([(index[a], index[b]) for a, b in must_colocate], dtype=np.int32).reshape(-1, 2),
    )


def make_costs(
    ops: int,
    time_us: Sequence[float] | Mapping[str, Sequence[float]] = (),
    output_bytes: Sequence[Sequence[int]] = (),
    trips: Sequence[int] = (),
) -> Costs:
    """Costs of `ops` ops: once 1 µs everywhere and one output of 100 bytes, where nothing else is said."""
    times = time_us if isinstance(time_us, Mapping) else {"*": time_us or [1.0] * ops}
    sizes = output_bytes or [[100]] * ops
    return Costs(
        kinds=tuple(times),
        time_us=np.array(list(times.values()), dtype=np.float64),
        output_offset=np.cumsum([0, *map(len, sizes)]),
        output_bytes=np.array([size for of_op in sizes for size in of_op], dtype=np.int64),
        persistent_bytes=np.zeros(ops, dtype=np.int64),
        temporary_bytes=np.zeros(ops, dtype=np.int64),
        source=np.full(ops, CostSource.GIVEN, dtype=np.uint8),
        trips=np.array(trips, dtype=np.int64),
    )


def members(graph: ComputationGraph, part_of_op: np.ndarray) -> set[frozenset[str]]:
    """The parts as sets of names."""
    parts: dict[int, set[str]] = {}
    for name, part in zip(graph.op_names, part_of_op.tolist(), strict=True):
        parts.setdefault(part, set()).add(name)
    return {frozenset(part) for part in parts.values()}


def assert_consistent(graph: ComputationGraph, grouping: Grouping) -> None:
    """What holds for every grouping: numbers, names, and edges that are those of the ops."""
    assert sorted(set(grouping.group_of_op.tolist())) == list(range(grouping.group_count))
    group_of_name = dict(zip(graph.op_names, grouping.group_of_op.tolist(), strict=True))
    assert [group_of_name[name] for name in grouping.names] == list(range(grouping.group_count))
    sources, targets = grouping.group_of_op[graph.edge_source], grouping.group_of_op[graph.edge_target]
    of_ops = {pair for pair in zip(sources.tolist(), targets.tolist(), strict=True) if pair[0] != pair[1]}
    forward = list(zip(grouping.edge_source.tolist(), grouping.edge_target.tolist(), strict=True))
    feedback = [(source, target) for source, target in grouping.feedback_edges.tolist()]
    assert all(source < target for source, target in forward)
    assert all(source > target for source, target in feedback)
    assert len(forward) + len(feedback) == len(of_ops)
    assert {*forward, *feedback} == of_ops


@st.composite
def random_graphs(draw: st.DrawFn, most_ops: int = 14) -> tuple[ComputationGraph, Costs]:
    """An acyclic graph in any order of its file, with labels, pairs, control edges, several outputs, odd costs, and
    trips in a third of them.
    """
    count = draw(st.integers(1, most_ops))
    names = [f"op_{index}" for index in range(count)]
    sizes = draw(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=3), min_size=count, max_size=count))
    pairs = draw(
        st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=3 * count, unique=True)
    )
    edges: dict[tuple[str, str, int], None] = {}
    for one, other in pairs:
        if one != other:
            source, target = sorted((one, other))
            output = draw(st.integers(CONTROL, len(sizes[source]) - 1))
            edges[names[source], names[target], output] = None
    labels = draw(st.dictionaries(st.sampled_from(names), st.sampled_from([*names, "x", "y"]), max_size=count // 2))
    must = draw(st.lists(st.tuples(st.sampled_from(names), st.sampled_from(names)), max_size=count // 4))
    times = draw(st.lists(st.sampled_from([0.0, 0.1, 1.0, 7.0]), min_size=count, max_size=count))
    order = draw(st.permutations(range(count)))
    graph = make_graph(
        [names[op] for op in order],
        list(edges),
        colocation={name: [label] for name, label in labels.items()},
        must_colocate=must,
    )
    trips: list[int] = []
    if draw(st.integers(0, 2)) == 0:
        trips = draw(st.lists(st.sampled_from([0, 1, 1, 3, 40, 10**9]), min_size=count, max_size=count))
        trips = trips if set(trips) != {1} else []
    return graph, make_costs(count, [times[op] for op in order], [sizes[op] for op in order], trips)


def permuted(graph: ComputationGraph, costs: Costs, order: Sequence[int]) -> tuple[ComputationGraph, Costs]:
    """The same graph and costs with the ops of the file in `order`."""
    names = graph.op_names
    edges = [
        (names[source], names[target], output)
        for source, target, output in zip(
            graph.edge_source.tolist(), graph.edge_target.tolist(), graph.edge_output.tolist(), strict=True
        )
    ]
    moved = make_graph(
        [names[op] for op in order],
        edges,
        colocation=dict(zip(names, graph.colocation, strict=True)),
        must_colocate=[(names[one], names[other]) for one, other in graph.must_colocate.tolist()],
        devices=dict(zip(names, graph.devices, strict=True)),
    )
    offsets = costs.output_offset.tolist()
    sizes = [costs.output_bytes[offsets[op] : offsets[op + 1]].tolist() for op in order]
    times = {kind: [row[op] for op in order] for kind, row in zip(costs.kinds, costs.time_us.tolist(), strict=True)}
    trips = [int(costs.trips[op]) for op in order] if len(costs.trips) else []
    return moved, make_costs(graph.op_count, times, sizes, trips)
