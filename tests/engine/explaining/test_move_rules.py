"""Moves by hand under constraints: which are open, which are refused, and by which sentence."""

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster
from engine.clusters.parsing import parse_cluster
from engine.errors import PlacementError
from engine.explaining.move_rules import MoveRules
from engine.explaining.session import Session
from engine.graphs.constraints import Constraints
from engine.graphs.graph import ComputationGraph
from engine.problem.constrained import RunConstraints
from tests.engine.explaining.sessions import prepared_of

CLUSTER = parse_cluster("3xK80+cpu")
DRAWN = 60


def drawn_rules(graph: ComputationGraph, rng: np.random.Generator) -> Constraints:
    """A few rules on drawn ops."""
    names = iter(rng.permutation(np.array(graph.op_names)).tolist())

    def words(count: int) -> str:
        return " ".join(f'"{next(names)}"' for _ in range(count))

    return Constraints.of_lines(
        [
            f"together {words(3)}",
            f"apart {words(3)}",
            f"apart {words(2)}",
            f"off {words(4)} CPU",
            f"off {words(3)} GPU:1",
        ]
    )


def kept(rules: RunConstraints, group_of_op: NDArray[np.int32], rng: np.random.Generator) -> NDArray[np.int32] | None:
    """[groups] a drawn placement that keeps all rules; None where none was drawn."""
    for _ in range(3000):
        placement = rng.integers(CLUSTER.device_count, size=int(group_of_op.max()) + 1).astype(np.int32)
        for its in rules.together:
            placement[group_of_op[its]] = placement[group_of_op[its[0]]]
        if not rules.broken_by(placement[group_of_op], CLUSTER):
            return placement
    return None


def test_a_move_is_open_if_all_rules_hold_after_it() -> None:
    """Of drawn rules and placements, every single move, against the check of a whole placement."""
    seen = {True: 0, False: 0}
    for seed in range(DRAWN):
        rng = np.random.default_rng(seed)
        prepared = prepared_of(seed % 5)
        graph, group_of_op = prepared.graph, prepared.grouping.group_of_op
        asked = drawn_rules(graph, rng)
        rules = RunConstraints.of(graph, asked, CLUSTER)
        placement = kept(rules, group_of_op, rng)
        if placement is None:
            continue
        moves = MoveRules(graph, group_of_op, CLUSTER, asked)
        members = [np.flatnonzero(group_of_op == group) for group in range(len(placement))]
        found = moves.open_to(placement[group_of_op], members)
        for group, device in np.ndindex(found.shape):
            after = placement.copy()
            after[group] = device
            sentence = rules.broken_by(after[group_of_op], CLUSTER)
            assert found[group, device] == (sentence == ""), (seed, group, device)
            assert (moves.broken_by(after[group_of_op], np.array([group])) == "") == (sentence == "")
            seen[bool(found[group, device])] += 1
    assert min(seen.values()) > 500, seen


def session_with(*rules: str, cluster: Cluster = CLUSTER) -> tuple[Session, list[str]]:
    """A session with rules that name `{0}`, `{1}`, …: the first op of each group; and those names."""
    prepared = prepared_of(0)
    first = np.unique(prepared.grouping.group_of_op, return_index=True)[1]
    names = [prepared.graph.op_names[op] for op in first]
    lines = [rule.format(*names) for rule in rules]
    return Session(prepared, cluster, constraints=Constraints.of_lines(lines)), names


def placed(session: Session, **groups: int) -> list[int]:
    """[groups] device 0, except those that `groups` say, as g3=1."""
    placement = [0] * session.prepared.grouping.group_count
    for name, device in groups.items():
        placement[int(name[1:])] = device
    return placement


def test_a_move_that_breaks_a_rule_is_refused_by_its_name() -> None:
    session, names = session_with("apart {0} {1}", "off {2} GPU:1", "together {3} {4}")
    for groups, moved, rule, ops in (
        ({"g0": 1, "g1": 1}, [1], f"apart {names[0]} {names[1]}", f"{names[0]} and {names[1]} are on GPU 1"),
        ({"g0": 1, "g2": 1}, [2], f"off {names[2]} GPU:1", f"{names[2]} is on GPU 1"),
        ({"g0": 1, "g3": 2}, [3], f"together {names[3]} {names[4]}", f"{names[4]} is on GPU 0, {names[3]} on GPU 2"),
    ):
        with pytest.raises(PlacementError) as refused:
            session.require_moves_allowed(session.by_group(placed(session, **groups)), moved)
        assert str(refused.value).startswith(f"the move: it breaks `{rule}`: {ops}"), refused.value


def test_a_rule_that_no_moved_group_has_a_part_in_refuses_no_move() -> None:
    session, _ = session_with("apart {0} {1}")
    session.require_moves_allowed(session.by_group(placed(session, g5=1)), [5])


def test_what_is_together_moves_together_and_gains_say_so() -> None:
    session, _ = session_with("together {3} {4}")
    placement = session.by_group(placed(session))
    alone, both = session.gains(placement, [3]), session.joint_gains(placement, [3, 4])
    assert np.isnan(alone.step_time_us[0, 1:]).all() and not np.isnan(alone.step_time_us[0, 0])
    open_to_both = session.allowed[[3, 4]].all(axis=0)
    assert (np.isnan(both.step_time_us[0]) == ~open_to_both).all()
    session.require_moves_allowed(session.by_group(placed(session, g3=1, g4=1)), [3, 4])
