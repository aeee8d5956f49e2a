"""Group ops that move together, in the steps `colocation.py`, `gradients.py`, `joining.py` and `merging.py`."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.clusters.device_kinds import COSTED_KINDS, KINDS
from engine.errors import SettingsError
from engine.graphs.colocation import colocation_classes, devices_of_classes
from engine.graphs.constraints import ConstrainedOps, Constraints
from engine.graphs.device_string import DeviceString
from engine.graphs.edge_trips import most_of_each, moved_bytes, trips_of_edges
from engine.graphs.graph import CONTROL, ComputationGraph
from engine.graphs.grouping.gradients import are_gradients, forward_ops, join_gradients
from engine.graphs.ordering import NO_PAIR, Pairs, pairs_of_edges, positions_of_classes, rank_of_ops

if TYPE_CHECKING:
    from engine.graphs.grouping.merged_ops import MergedOps

WEIGHT_UNITS = 2**40
"""weight of the whole work: integers, whose sums do not depend on the order of the file"""
MOST_SHARES_OF_A_LAYER = 4
"""equal shares of the work that gradient ops may add to their forward op"""


@dataclass(frozen=True, slots=True)
class Grouping:
    """The group of each op, and the acyclic graph of the groups. Arrays are read-only.

    Groups are numbered in a topological order of the group graph. Edges against that order are feedback edges: they
    lead into the update ops of a variable's group, or join groups of forward ops and their gradients, which are
    numbered in the forward order. They are not part of the group graph, but the simulator, which works on ops, honours
    them.
    """

    names: tuple[str, ...]
    """[groups] the name of the group's most representative op; unique"""
    group_of_op: NDArray[np.int32]
    """[ops] the group of each op"""
    edge_source: NDArray[np.int32]
    """[group edges] each pair once; always edge_source < edge_target"""
    edge_target: NDArray[np.int32]
    """[group edges]"""
    edge_bytes: NDArray[np.int64]
    """[group edges] bytes sent in a step if the two groups are on two devices: an output counts once, in a loop once a
    trip"""
    feedback_edges: NDArray[np.int32]
    """[feedback edges, 2] (source, target)"""

    def __post_init__(self) -> None:
        assert np.all(self.edge_source < self.edge_target)
        for array in (self.group_of_op, self.edge_source, self.edge_target, self.edge_bytes, self.feedback_edges):
            array.setflags(write=False)

    @property
    def group_count(self) -> int:
        return len(self.names)


class OpCosts(Protocol):
    """The costs of ops that grouping needs; `engine.costs`, a higher package, implements them."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds with a row of times"""

    @property
    def output_offset(self) -> NDArray[np.int64]:
        """[ops + 1] output j of op i is `output_bytes[output_offset[i] + j]`"""

    @property
    def output_bytes(self) -> NDArray[np.int64]:
        """[all outputs] bytes of each output"""

    def time_on(self, device_kinds: Sequence[str]) -> NDArray[np.float64]:
        """[kinds, ops] times in a step; NaN where an op has no time on a kind"""

    def by_peaks_us(self, kinds: Sequence[str]) -> NDArray[np.float64]:
        """[kinds, ops] times in a step by the peaks of `kinds` alone where they are estimates; NaN as in `time_on`"""

    def bytes_of_op(self) -> NDArray[np.int64]:
        """[ops] bytes of all outputs of each op"""

    def trips_of_op(self) -> NDArray[np.int64]:
        """[ops] executions of each op in a step"""


def group_ops(
    graph: ComputationGraph, costs: OpCosts, groups: int | None, threshold_bytes: int | None = None
) -> Grouping:
    """Group the ops: co-location, gradients to their forward ops, joining, merging to at most `groups` groups.

    With None each co-location class is a group. With `threshold_bytes` groups of at least that many output bytes stay
    unmerged. Only ops of one site (fixed device, kinds on which they have a time) are joined and merged, so more groups
    than `groups` remain where sites alternate. The same graph gives the same groups in any order of its file. Raises
    GraphError where co-located ops are fixed to different devices, SettingsError for fewer than one group or a negative
    threshold.
    """
    if groups is not None and groups < 1:
        raise SettingsError(f"{groups} groups", where="groups", allowed="an integer from 1, or all", field="groups")
    if threshold_bytes is not None and threshold_bytes < 0:
        raise SettingsError(f"{threshold_bytes} bytes", where="threshold_bytes", allowed="from 0", field="groups")
    classes = Classes(graph, costs)
    if groups is None:
        return classes.grouping()
    equal_share = classes.total_weight // groups
    merged = classes.to_merge(MOST_SHARES_OF_A_LAYER * equal_share)
    merged.join(equal_share)
    merged.merge(groups, equal_share, threshold_bytes)
    return classes.grouped(merged.group_of_op())


class Classes:
    """The sets of co-located ops of one graph, from which groups are made."""

    def __init__(self, graph: ComputationGraph, costs: OpCosts) -> None:
        """Raises GraphError where co-located ops are fixed to different devices."""
        self._graph, self._costs = graph, costs
        self._class_of_op = colocation_classes(graph)
        devices_of_classes(graph, self._class_of_op)
        self._rank, self._weight = rank_of_ops(graph), _weights(costs)
        self._representative = _by_representation(graph, costs, self._weight, self._rank)
        self.total_weight = int(self._weight.sum())

    def grouping(self) -> Grouping:
        """Each class as a group."""
        position = positions_of_classes(self._graph, self._class_of_op, self._rank)
        return self.grouped(position[self._class_of_op].astype(np.int32))

    def grouped(self, group_of_op: NDArray[np.int32]) -> Grouping:
        """The grouping with these groups [ops]; an edge to a lower group number is a feedback edge."""
        return _grouping(self._graph, self._costs, group_of_op, self._representative)

    @cached_property
    def _forward_of_op(self) -> NDArray[np.int64]:
        return forward_ops(self._graph.op_names)

    def layers(self, most_weight: int, within: NDArray[np.int32] | None = None) -> NDArray[np.int32]:
        """[ops] the classes, those of gradients joined to those of their forward ops: see `join_gradients`."""
        return join_gradients(
            self._class_of_op,
            self._forward_of_op,
            np.argsort(self._rank),
            _sums(self._weight, self._class_of_op),
            _sites(self._graph, self._costs, self._class_of_op),
            most_weight,
            within,
        )

    def without_heavy_gradients(
        self, group_of_op: NDArray[np.int32], layers: NDArray[np.int32], lighter: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """[ops] the groups after each layer has given off its heavy gradients, which become groups of their own.

        `lighter` splits `layers` into parts: both are answers of the method `layers`, the second within the first. The
        part with a layer's first op stays; each other part becomes a group, which follows the one that it leaves.
        """
        order = np.argsort(self._rank)
        first = order[np.unique(layers[order], return_index=True)[1]]
        own = np.where(lighter == lighter[first[layers]], 0, 1 + lighter.astype(np.int64))
        parts = np.stack([group_of_op.astype(np.int64), own], axis=1)
        return np.unique(parts, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int32)

    def to_merge(self, most_weight_of_a_layer: int) -> "MergedOps":
        """The classes, those of gradients joined to those of their forward ops up to that weight, to be merged."""
        # its compiler takes half a second to load, and children that read files do without
        from engine.graphs.grouping.contraction import Nodes, make_contraction
        from engine.graphs.grouping.merged_ops import MergedOps

        graph, costs, order = self._graph, self._costs, np.argsort(self._rank)
        class_of_op = self.layers(most_weight_of_a_layer)
        node_of_op = positions_of_classes(graph, class_of_op, self._rank)[class_of_op].astype(np.int32)
        nodes = Nodes(
            output_bytes=_sums(costs.bytes_of_op(), node_of_op),
            weight=_sums(self._weight, node_of_op),
            ops=np.bincount(node_of_op),
            site=_sites(graph, costs, node_of_op),
        )
        pairs, sizes = edges_between(graph, costs, node_of_op)
        forward = pairs[:, 0] < pairs[:, 1]
        contraction = make_contraction(nodes, pairs[forward, 0], pairs[forward, 1], sizes[forward])
        return MergedOps(graph, contraction, node_of_op, order)


def _sums(of_op: NDArray[np.int64], part_of_op: NDArray[np.int32]) -> NDArray[np.int64]:
    """[parts] the sum over the ops of each part."""
    sums = np.zeros(int(part_of_op.max()) + 1, dtype=np.int64)
    np.add.at(sums, part_of_op, of_op)
    return sums


def _weights(costs: OpCosts) -> NDArray[np.int64]:
    """[ops] share of the time, mean over device kinds, in units of 1 / `WEIGHT_UNITS`; 1 each if there are no times.

    A kind of the catalogue that is not costed counts only where the file itself has times on it, so that a new kind
    changes no graph's groups.
    """
    time_us, total_us = _times(costs)
    if not total_us.any():
        return np.ones(time_us.shape[1], dtype=np.int64)
    shares = (time_us[total_us > 0] / total_us[total_us > 0, None]).mean(axis=0)
    return np.asarray(np.rint(shares * WEIGHT_UNITS), dtype=np.int64)


def _times(costs: OpCosts) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times of the ops [kinds, ops] that decide their weight, 0 where there is none, and their sums [kinds], in µs."""
    own = [kind for kind in costs.kinds if kind in KINDS and kind not in COSTED_KINDS]
    time_us = np.nan_to_num(costs.by_peaks_us(list(dict.fromkeys((*COSTED_KINDS, "GPU", *own)))), nan=0.0)
    return time_us, np.array([math.fsum(row) for row in time_us])  # exact, so independent of the order of the file


def _sites(graph: ComputationGraph, costs: OpCosts, part_of_op: NDArray[np.int32]) -> NDArray[np.int64]:
    """[parts] a number for a part's site: fixed device, kinds on which all its ops have times, only CPUs, only GPUs.

    Weights that may wait elsewhere are a site of their own, and so is what the file's constraints keep apart or off
    devices.
    """
    fixed = devices_of_classes(graph, part_of_op)
    marks = [*np.isnan(costs.time_on(KINDS)), graph.needs_cpu, graph.needs_gpu]
    if len(graph.waiting_weights):
        marks.append(graph.waiting_weights)
    if graph.constraints:
        marks += ConstrainedOps.of(Constraints.of_lines(graph.constraints), graph.op_names).marks(graph.op_count)
    closed = np.zeros((len(fixed), len(marks)), dtype=bool)
    np.logical_or.at(closed, part_of_op, np.vstack(marks).T)
    numbers: dict[DeviceString, int] = {}
    number_of_fixed = [numbers.setdefault(device, len(numbers)) for device in fixed] if any(graph.devices) else 0
    _, site_of_kinds = np.unique(np.packbits(closed, axis=1), axis=0, return_inverse=True)
    _, site = np.unique(site_of_kinds.reshape(-1) * len(fixed) + number_of_fixed, return_inverse=True)
    return np.asarray(site, dtype=np.int64)


def edges_between(
    graph: ComputationGraph, costs: OpCosts, part_of_op: NDArray[np.int32]
) -> tuple[Pairs, NDArray[np.int64]]:
    """Pairs of parts [edges, 2] with an edge between them, each once, and the bytes that flow in a step [edges].

    An output that several ops of a part take counts once, in a loop once a trip; a control edge has no bytes.
    """
    pairs, pair_of_edge = pairs_of_edges(part_of_op[graph.edge_source], part_of_op[graph.edge_target])
    flowing = (graph.edge_output != CONTROL) & (pair_of_edge != NO_PAIR)
    taken = costs.output_offset[graph.edge_source[flowing]] + graph.edge_output[flowing]
    outputs = len(costs.output_bytes)
    flows, flow_of_edge = np.unique(pair_of_edge[flowing] * outputs + taken, return_inverse=True)
    trips = most_of_each(trips_of_edges(graph, costs.trips_of_op())[flowing], flow_of_edge, len(flows))
    pair_of_flow, output_of_flow = np.divmod(flows, max(1, outputs))
    sizes = np.zeros(len(pairs), dtype=np.int64)
    np.add.at(sizes, pair_of_flow, moved_bytes(costs.output_bytes[output_of_flow], trips))
    return pairs, sizes


def _by_representation(
    graph: ComputationGraph, costs: OpCosts, weight: NDArray[np.int64], rank: NDArray[np.int64]
) -> NDArray[np.int64]:
    """[ops] the ops, most representative first: forward ops before gradients, then by time, then by bytes."""
    return np.lexsort((rank, -costs.bytes_of_op(), -weight, are_gradients(graph.op_names)))


def _grouping(
    graph: ComputationGraph, costs: OpCosts, group_of_op: NDArray[np.int32], representative: NDArray[np.int64]
) -> Grouping:
    """Make the group graph; an edge to a lower group number is a feedback edge."""
    first = np.empty(int(group_of_op.max()) + 1, dtype=np.int64)
    first[group_of_op[representative[::-1]]] = np.arange(len(representative))[::-1]  # the last one written stays
    pairs, sizes = edges_between(graph, costs, group_of_op)
    forward = pairs[:, 0] < pairs[:, 1]
    return Grouping(
        names=tuple(graph.op_names[op] for op in representative[first].tolist()),
        group_of_op=group_of_op,
        edge_source=pairs[forward, 0].astype(np.int32),
        edge_target=pairs[forward, 1].astype(np.int32),
        edge_bytes=sizes[forward],
        feedback_edges=pairs[~forward].astype(np.int32),
    )
