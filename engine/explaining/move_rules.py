"""Which moves of groups by hand break a run's constraints."""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster
from engine.graphs.apart import Apart
from engine.graphs.constraints import Constraints
from engine.graphs.graph import ComputationGraph
from engine.problem.constrained import RunConstraints


class MoveRules:
    """The constraints of a graph's file and of a run, as moves of whole groups meet them."""

    def __init__(
        self, graph: ComputationGraph, group_of_op: NDArray[np.integer], cluster: Cluster, asked: Constraints
    ) -> None:
        """Raises SettingsError as a run does."""
        self._rules = RunConstraints.of(graph, asked, cluster)
        self._group_of_op, self._cluster = group_of_op, cluster

    def broken_by(self, device_of_op: NDArray[np.integer], moved: NDArray[np.integer]) -> str:
        """A sentence on the first rule on some op of the groups `moved` that a placement [ops] breaks; empty: none."""
        if not self._rules.ops.rules:
            return ""
        return self._on(np.isin(self._group_of_op, moved)).broken_by(device_of_op, self._cluster)

    def _on(self, is_moved: NDArray[np.bool_]) -> RunConstraints:
        """The rules in which an op [ops] has a part; those that close devices close them to such ops alone."""
        ops, rules = self._rules.ops, self._rules.ops.rules
        together = [number for number, its in enumerate(ops.together) if is_moved[its].any()]
        off = [number for number, its in enumerate(ops.off) if is_moved[its].any()]
        is_apart = np.isin(ops.apart.rule, ops.apart.rule[is_moved[ops.apart.member]])
        kept = Apart(*(row[is_apart] for row in (ops.apart.rule, ops.apart.part, ops.apart.member)))
        return dataclasses.replace(
            self._rules,
            ops=dataclasses.replace(
                ops,
                rules=dataclasses.replace(
                    rules,
                    together=tuple(rules.together[number] for number in together),
                    off=tuple(rules.off[number] for number in off),
                ),
                together=tuple(ops.together[number] for number in together),
                apart=kept,
                off=tuple(ops.off[number][is_moved[ops.off[number]]] for number in off),
            ),
        )

    def open_to(self, device_of_op: NDArray[np.integer], members: Sequence[NDArray[np.integer]]) -> NDArray[np.bool_]:
        """[moves, devices] whether the ops `members` of each move may all go there from a placement [ops].

        Where all of them are already is open.
        """
        found = np.ones((len(members), self._cluster.device_count), dtype=bool)
        if not self._rules.ops.rules:
            return found
        sets = list(self._sets())
        ruled = np.unique(np.concatenate([np.concatenate(parts) for parts in sets] + list(self._rules.ops.off)))
        for move, ops in enumerate(members):
            if not np.isin(ops, ruled).any():
                continue
            found[move] = self._rules.open_to_op[ops].all(axis=0)
            for parts in sets:
                found[move] &= self._open_beside(parts, device_of_op, ops)
            here = device_of_op[ops[0]]
            found[move, here] |= (device_of_op[ops] == here).all()
        return found

    def _sets(self) -> Iterator[list[NDArray[np.integer]]]:
        """Of each rule that ties ops to each other its parts: what is together is a part beside which is none."""
        for its in self._rules.together:
            yield [its]
        apart = self._rules.apart
        for rule in np.unique(apart.rule):
            of_rule = apart.rule == rule
            yield [apart.member[of_rule & (apart.part == part)] for part in np.unique(apart.part[of_rule])]

    def _open_beside(
        self, parts: list[NDArray[np.integer]], device_of_op: NDArray[np.integer], ops: NDArray[np.integer]
    ) -> NDArray[np.bool_]:
        """[devices] where `ops` may go by one rule, of which the others of its ops stay where they are."""
        devices = self._cluster.device_count
        is_moved = [np.isin(part, ops) for part in parts]
        others = np.array(
            [
                np.bincount(device_of_op[part[~moved]], minlength=devices)
                for part, moved in zip(parts, is_moved, strict=True)
            ]
        )
        own = [number for number, moved in enumerate(is_moved) if moved.any()]
        if not own:
            return np.ones(devices, dtype=bool)
        if len(parts) == 1:
            return np.asarray(others[0] == others[0].sum())
        if len(own) > 1:
            return np.zeros(devices, dtype=bool)
        return np.asarray(others.sum(axis=0) == others[own[0]])
