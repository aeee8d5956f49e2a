"""The constraints of a run on its cluster: those of the graph's file and those that the request adds."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster
from engine.errors import GraphError, SettingsError, shortened
from engine.graphs.apart import Apart
from engine.graphs.colocation import DisjointSets, colocation_classes
from engine.graphs.constraints import FIELD, ConstrainedOps, Constraints
from engine.graphs.device_string import parse_device_string
from engine.graphs.graph import ComputationGraph
from engine.graphs.grouping.grouping import Grouping

BEFORE_A_TYPE = "/device:"


@dataclass(frozen=True, slots=True, eq=False)
class RunConstraints:
    """What the constraints say of the ops of one graph on one cluster."""

    graph: ComputationGraph
    ops: ConstrainedOps
    open_to_op: NDArray[np.bool_]
    """[ops, devices] False where a rule closes the device to the op"""

    @staticmethod
    def of(graph: ComputationGraph, asked: Constraints, cluster: Cluster) -> "RunConstraints":
        """The rules of the graph's file and those `asked`.

        Raises SettingsError for a rule that names no op or, of those asked, no device of the cluster, and for rules
        that contradict each other. A device that the file names may be missing: its rule then closes nothing.
        """
        own = Constraints.of_lines(graph.constraints)
        ops = ConstrainedOps.of(own.and_those(asked), graph.op_names)
        if ops.apart:
            ops.require_possible(classes_together(graph, ops), graph.op_names)
        open_to_op = np.ones((graph.op_count, cluster.device_count), dtype=bool)
        for rule, (words, its_ops) in enumerate(zip(ops.rules.off, ops.off, strict=True)):
            is_meant = devices_meant(words[-1], cluster)
            if not is_meant.any() and rule >= len(own.off):
                line = Constraints(off=(words,)).lines[0]
                what = f"{shortened(words[-1])} is no device of the cluster"
                raise SettingsError(what, where=f"the rule `{shortened(line)}`", allowed=_devices(cluster), field=FIELD)
            open_to_op[np.ix_(its_ops, is_meant)] = False
        return RunConstraints(graph, ops, open_to_op)

    @property
    def apart(self) -> Apart:
        """Ops that must not share a device."""
        return self.ops.apart

    @property
    def together(self) -> tuple[NDArray[np.int64], ...]:
        """Sets of ops that share a device."""
        return self.ops.together

    def narrowed(self, allowed: NDArray[np.bool_], grouping: Grouping) -> NDArray[np.bool_]:
        """[groups, devices] `allowed`, without the devices that are closed to any op of a group.

        Raises SettingsError for a group that has no device left, or holds ops that must be apart.
        """
        if not self.ops.rules:
            return allowed
        for rule, one, other in self.apart.clashes(grouping.group_of_op):
            names = f"{shortened(self.graph.op_names[one])} and {shortened(self.graph.op_names[other])}"
            raise SettingsError(
                f"{names} are in one group, which moves as a whole",
                where=f"the rule `{shortened(self.ops.line_of_apart(rule))}`",
                allowed="smaller groups: read the graph with groups all, or auto and a method that searches all levels",
                field=FIELD,
            )
        found = allowed.copy()
        np.logical_and.at(found, grouping.group_of_op, self.open_to_op)
        lost = np.flatnonzero(~found.any(axis=1))
        if len(lost):
            its_ops = grouping.group_of_op == lost[0]
            lines = self._rules_of(np.flatnonzero(its_ops))
            raise SettingsError(
                f"the constraints leave no device for its group: {'; '.join(f'`{shortened(line)}`' for line in lines)}",
                where=shortened(grouping.names[lost[0]]),
                allowed="rules that leave one",
                field=FIELD,
            )
        return found

    def may_move_whole(self, grouping: Grouping) -> bool:
        """Whether no group holds ops that must be apart."""
        return next(self.apart.clashes(grouping.group_of_op), None) is None

    def _rules_of(self, ops: NDArray[np.int64]) -> list[str]:
        """The rules that keep some of `ops` together or off a device."""
        rules = self.ops.rules
        found = Constraints(
            together=tuple(w for w, its in zip(rules.together, self.together, strict=True) if np.isin(its, ops).any()),
            off=tuple(w for w, its in zip(rules.off, self.ops.off, strict=True) if np.isin(its, ops).any()),
        )
        return found.lines

    def broken_by(self, device_of_op: NDArray[np.integer], cluster: Cluster) -> str:
        """A sentence on the first rule that a placement [ops] breaks; empty if it keeps all."""
        names = self.graph.op_names
        for words, ops in zip(self.ops.rules.together, self.together, strict=True):
            astray = ops[device_of_op[ops] != device_of_op[ops[0]]]
            if len(astray):
                line = Constraints(together=(words,)).lines[0]
                both = f"{shortened(names[ops[0]])} is on {_on(cluster, device_of_op, ops[0])}"
                return f"it breaks `{shortened(line)}`: {both}, {shortened(names[astray[0]])} on " + _on(
                    cluster, device_of_op, astray[0]
                )
        for words, ops in zip(self.ops.rules.off, self.ops.off, strict=True):
            closed = ops[devices_meant(words[-1], cluster)[device_of_op[ops]]]
            if len(closed):
                line = Constraints(off=(words,)).lines[0]
                where = _on(cluster, device_of_op, closed[0])
                return f"it breaks `{shortened(line)}`: {shortened(names[closed[0]])} is on {where}"
        for rule, one, other in self.apart.clashes(device_of_op):
            both = f"{shortened(names[one])} and {shortened(names[other])}"
            line = self.ops.line_of_apart(rule)
            return f"it breaks `{shortened(line)}`: {both} are on {_on(cluster, device_of_op, np.int64(one))}"
        return ""


def classes_together(graph: ComputationGraph, ops: ConstrainedOps) -> NDArray[np.int32]:
    """[ops] the class of each op: those of one class share a device, by the graph or by the rules."""
    class_of_op = colocation_classes(graph)
    sets = DisjointSets(int(class_of_op.max()) + 1)
    for its_ops in ops.together:
        for op in its_ops[1:].tolist():
            sets.unite(int(class_of_op[its_ops[0]]), int(class_of_op[op]))
    return np.asarray(sets.numbered()[class_of_op])


def devices_meant(word: str, cluster: Cluster) -> NDArray[np.bool_]:
    """[devices] those that `word` means: a kind, a class, or a name such as `GPU:1` or `/device:GPU:1`."""
    by_kind = np.array([word in (device.kind, device.device_class) for device in cluster.devices])
    if by_kind.any():
        return by_kind
    try:
        meant = parse_device_string(word if word.startswith("/") else BEFORE_A_TYPE + word, word)
    except GraphError:
        return by_kind
    names = [parse_device_string(device.name, device.name) for device in cluster.devices]
    return np.array([name.agrees_with(meant) for name in names])


def _on(cluster: Cluster, device_of_op: NDArray[np.integer], op: np.int64) -> str:
    return cluster.devices[int(device_of_op[op])].short_name


def _devices(cluster: Cluster) -> str:
    kinds = dict.fromkeys(kind for device in cluster.devices for kind in (device.kind, device.device_class))
    return ", ".join([*(device.name for device in cluster.devices), *kinds])
