"""Graphs, costs and clusters for the simulator's tests: by hand, and drawn by hypothesis."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster, Contention, Device, MemoryModel
from engine.costs.costs import OWN_BUFFER, PERSISTENT_BUFFER, STEP_BUFFER, Costs, CostSource
from engine.graphs.graph import CONTROL, OPTIMIZER, PHASES, ComputationGraph

GB = 10**9
KINDS = ("K80", "GPU", "CPU", "*")


@dataclass(frozen=True, slots=True)
class Op:
    """An op as a test writes it; inputs are `name`, `name:output` or `^name`."""

    name: str
    inputs: Sequence[str] = ()
    time_us: float = 0.0
    outputs: Sequence[int] = (0,)
    persistent: int = 0
    temporary: int = 0
    trips: int = 1
    launches: int = 1


def graph_of(ops: Sequence[Op]) -> tuple[ComputationGraph, Costs]:
    """The graph, and costs that hold on every kind."""
    index_of = {op.name: index for index, op in enumerate(ops)}
    edges = []
    for index, op in enumerate(ops):
        for text in op.inputs:
            name, _, output = text.removeprefix("^").partition(":")
            edges.append((index_of[name], index, CONTROL if text.startswith("^") else int(output or 0)))
    times = np.array([[op.time_us for op in ops]], dtype=np.float64)
    graph = make_graph(tuple(index_of), edges)
    held, trips = [(op.persistent, op.temporary) for op in ops], [op.trips for op in ops]
    launches = [op.launches for op in ops]
    return graph, make_costs(("*",), times, [op.outputs for op in ops], held, trips, launches=launches)


def make_graph(
    names: tuple[str, ...],
    edges: Sequence[tuple[int, int, int]],
    op_types: Sequence[str] = (),
    back_edges: Sequence[tuple[int, int]] = (),
) -> ComputationGraph:
    """`edges` (source, target, output), by target; `back_edges` (source, target)."""
    columns = np.array(edges, dtype=np.int32).reshape(-1, 3)
    return ComputationGraph(
        name="case",
        op_names=names,
        op_types=tuple(op_types) or ("",) * len(names),
        edge_source=columns[:, 0].copy(),
        edge_target=columns[:, 1].copy(),
        edge_output=columns[:, 2].copy(),
        devices=("",) * len(names),
        colocation=((),) * len(names),
        back_edges=np.array(back_edges, dtype=np.int32).reshape(-1, 2),
    )


def make_costs(
    kinds: tuple[str, ...],
    time_us: NDArray[np.float64],
    outputs: Sequence[Sequence[int]],
    held: Sequence[tuple[int, int]],
    trips: Sequence[int] = (),
    buffers: Sequence[int] = (),
    contents: Sequence[int] = (),
    launches: Sequence[int] = (),
) -> Costs:
    """`held`: persistent and temporary bytes of each op. `buffers`, `contents` [outputs]: as in `Costs`."""
    return Costs(
        kinds=kinds,
        time_us=time_us,
        output_offset=np.cumsum([0] + [len(sizes) for sizes in outputs], dtype=np.int64),
        output_bytes=np.array([size for sizes in outputs for size in sizes], dtype=np.int64),
        persistent_bytes=np.array([persistent for persistent, _ in held], dtype=np.int64),
        temporary_bytes=np.array([temporary for _, temporary in held], dtype=np.int64),
        source=np.full(len(outputs), CostSource.GIVEN, dtype=np.uint8),
        trips=np.array(trips, dtype=np.int64),
        buffer_of_output=np.array(buffers, dtype=np.int64),
        contents_bytes=np.array(contents, dtype=np.int64),
        launches=np.array(launches, dtype=np.int64),
    )


def cluster_of(
    devices: int,
    contention: Contention = Contention.BUS,
    memory_model: MemoryModel = MemoryModel.FULL,
    bandwidth_bytes_per_us: float = 100.0,
    latency_us: float = 0.0,
    link_rest_us: float = 25.0,
    op_rest_us: float = 5.7,
    memory_bytes: int = GB,
) -> Cluster:
    """Equal K80s with equal links."""
    return Cluster(
        devices=tuple(Device(f"/device:GPU:{index}", "K80", memory_bytes) for index in range(devices)),
        contention=contention,
        bandwidth_bytes_per_us=np.full((devices, devices), bandwidth_bytes_per_us),
        latency_us=np.full((devices, devices), latency_us),
        link_rest_us=link_rest_us,
        op_rest_us=op_rest_us,
        memory_model=memory_model,
    )


@dataclass(frozen=True, slots=True)
class Case:
    """A drawn triple; `placements` are [placements, ops]."""

    graph: ComputationGraph
    costs: Costs
    cluster: Cluster
    placements: NDArray[np.int32]


TIMES = st.sampled_from([0.0, 0.0, 1.0, 2.5, 10.0, 13.7, 1000.0, 0.3, 1e-15])
"""the last one is not zero, but added to most others it changes nothing"""
TRIPS = st.sampled_from([1, 1, 1, 0, 2, 3, 7, 1000])
LAUNCHES = st.sampled_from([1, 1, 0, 2, 5])
SIZES = st.sampled_from([0, 0, 1, 100, 4000, 76000])


@st.composite
def graphs(draw: st.DrawFn, most_ops: int) -> tuple[ComputationGraph, list[list[int]]]:
    """A graph and its outputs' bytes. The file's order, the names' order and the edges' direction are independent."""
    count = draw(st.integers(1, most_ops))
    outputs = [draw(st.lists(SIZES, max_size=3)) for _ in range(count)]
    in_file = draw(st.permutations(range(count)))
    numbers = draw(st.permutations(range(count)))
    edges = []
    for later in range(1, count):
        for earlier in draw(st.lists(st.integers(0, later - 1), max_size=3)):
            source = in_file[earlier]
            edges.append((source, in_file[later], draw(st.integers(CONTROL, len(outputs[source]) - 1))))
    edges.sort(key=lambda edge: edge[1])
    graph = make_graph(tuple(f"op{number}" for number in numbers), edges)
    types = draw(st.lists(st.sampled_from(["MatMul", "Identity"]), min_size=count, max_size=count))
    return dataclasses.replace(graph, op_types=tuple(types)), outputs


@st.composite
def _phases(draw: st.DrawFn, graph: ComputationGraph) -> NDArray[np.uint8]:
    """[ops] drawn phases; what takes from the optimizer is of the optimizer."""
    drawn = st.sampled_from(range(len(PHASES)))
    phases = draw(st.lists(drawn, min_size=graph.op_count, max_size=graph.op_count))
    edges = list(zip(graph.edge_source.tolist(), graph.edge_target.tolist(), strict=True))
    for _ in range(graph.op_count):
        for source, target in edges:
            phases[target] = OPTIMIZER if phases[source] == OPTIMIZER else phases[target]
    return np.array(phases, dtype=np.uint8)


LINKS = (Contention.BUS, Contention.PAIR, Contention.NONE, Contention.SENDER)
"""those of which slow_twin.py knows the order of simultaneous events; for `host` see slow_stream.py"""


@st.composite
def clusters(draw: st.DrawFn, most_devices: int) -> Cluster:
    """Any link and memory model, unequal devices and links, names in any order."""
    count = draw(st.integers(1, most_devices))
    equal_links = draw(st.booleans())
    links = st.sampled_from([100.0, 7600.0, 50.0])
    size = 1 if equal_links else count * count
    bandwidth = np.array(draw(st.lists(links, min_size=size, max_size=size)))
    latency = np.array(draw(st.lists(st.sampled_from([0.0, 0.0, 5.0]), min_size=size, max_size=size)))
    kinds = draw(st.lists(st.sampled_from(["K80", "V100", "CPU"]), min_size=count, max_size=count))
    numbers = draw(st.permutations(range(count)))
    memory = draw(st.lists(st.sampled_from([10_000, 200_000, GB]), min_size=count, max_size=count))
    return Cluster(
        devices=tuple(
            Device(f"d{number}", kind, size) for number, kind, size in zip(numbers, kinds, memory, strict=True)
        ),
        contention=draw(st.sampled_from(LINKS)),
        bandwidth_bytes_per_us=np.resize(bandwidth, (count, count)),
        latency_us=np.resize(latency, (count, count)),
        link_rest_us=draw(st.sampled_from([0.0, 25.0])),
        op_rest_us=draw(st.sampled_from([0.0, 5.7])),
        memory_model=draw(st.sampled_from(list(MemoryModel))),
        op_rest_of_kind=draw(st.sampled_from([{}, {}, {"K80": 2.5}])),
    )


@st.composite
def _buffers(draw: st.DrawFn, graph: ComputationGraph, outputs: Sequence[Sequence[int]]) -> list[int]:
    """[outputs] drawn buffers: own, a variable's, there during the whole step, or that of any input of the op."""
    first = np.cumsum([0] + [len(sizes) for sizes in outputs]).tolist()
    taken: dict[int, list[int]] = {}
    for source, target, output in zip(graph.edge_source, graph.edge_target, graph.edge_output, strict=True):
        if output != CONTROL:
            taken.setdefault(int(target), []).append(first[int(source)] + int(output))
    return [
        draw(st.sampled_from([OWN_BUFFER, PERSISTENT_BUFFER, STEP_BUFFER, *taken.get(op, []), *taken.get(op, [])]))
        for op, sizes in enumerate(outputs)
        for _ in sizes
    ]


@st.composite
def cases(draw: st.DrawFn, most_ops: int = 14, most_devices: int = 16, placements: int = 8) -> Case:
    """A graph with times by kind (`*` always has one) on a cluster, and random placements from a drawn seed.

    Half of the graphs have trips, half launches, some have phases.
    """
    graph, outputs = draw(graphs(most_ops))
    if draw(st.sampled_from([False, False, True])):
        graph = dataclasses.replace(graph, phase=draw(_phases(graph)))
    cluster = draw(clusters(most_devices))
    count = graph.op_count
    times = np.full((len(KINDS), count), np.nan)
    times[-1] = draw(st.lists(TIMES, min_size=count, max_size=count))
    for row in range(len(KINDS) - 1):
        for op in draw(st.lists(st.integers(0, count - 1), max_size=4)):
            times[row, op] = draw(TIMES)
    held = draw(st.lists(st.tuples(SIZES, SIZES), min_size=count, max_size=count))
    trips = draw(st.lists(TRIPS, min_size=count, max_size=count)) if draw(st.booleans()) else []
    buffers = draw(_buffers(graph, outputs)) if draw(st.booleans()) else []
    count_of_outputs = sum(map(len, outputs))
    made = [buffer < 0 for buffer in buffers] or [True] * count_of_outputs
    contents = [draw(SIZES) * each for each in made] if draw(st.booleans()) else []
    launches = draw(st.lists(LAUNCHES, min_size=count, max_size=count)) if draw(st.booleans()) else []
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return Case(
        graph=graph,
        costs=make_costs(KINDS, times, outputs, held, trips, buffers, contents, launches),
        cluster=cluster,
        placements=rng.integers(0, cluster.device_count, (placements, count), dtype=np.int32),
    )
