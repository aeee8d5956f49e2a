"""What no placement can fit is refused before the search, with the ops that need the memory and what helps."""

import dataclasses
import re
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from engine.api import Budget, PreparedGraph, RunRequest, place
from engine.errors import InfeasibleError
from engine.events import Baseline
from engine.graphs.grouping.grouping import group_ops
from engine.graphs.grouping.levels import nested_groupings
from engine.problem import PlacementProblem, RunContext
from engine.problem.memory_floor import require_room
from engine.simulator.streams.stream import Pipeline, Stream
from tests.engine.placers.small_problems import one_group_an_op, small_cluster
from tests.engine.simulator.cases import Op, graph_of
from tests.engine.simulator.streams.drawn_streams import problem_of_ops
from tests.engine.small_runs import Heard, events_of

FITS = [Op("a", time_us=5, outputs=[400]), Op("b", ["a"], time_us=5, outputs=[400]), Op("c", ["b"], time_us=5)]


def prepared(*ops: Op, pairs: tuple[tuple[int, int], ...] = (), groups: int | None = None) -> PreparedGraph:
    """Ops of `pairs` share a device."""
    graph, costs = graph_of(ops)
    graph = dataclasses.replace(graph, must_colocate=np.array(pairs, dtype=np.int32).reshape(-1, 2))
    return PreparedGraph(
        graph, costs, one_group_an_op(graph, costs) if groups is None else group_ops(graph, costs, groups)
    )


def refusal(graph: PreparedGraph, method: str = "random", evaluations: int = 20) -> tuple[str, bool]:
    """The error of a run on two devices of 1,000 bytes, and whether anything was evaluated before it."""
    heard: Heard = []
    request = RunRequest(small_cluster(2, memory_bytes=1000, cpu=False), method, Budget(evaluations), 0)
    with pytest.raises(InfeasibleError) as caught:
        place(graph, request, heard.append, lambda: False)
    return str(caught.value), any(isinstance(event, Baseline) for event in events_of(heard))


def problem_with(
    ops: Sequence[Op], buffers: Sequence[int], pairs: tuple[tuple[int, int], ...], memory_bytes: int = 10**9
) -> PlacementProblem:
    """Two devices; a group an op, but those of `pairs` together; `buffers` [ops] as `Costs.buffer_of_output`."""
    graph, costs = graph_of(ops)
    graph = dataclasses.replace(graph, must_colocate=np.array(pairs, dtype=np.int32).reshape(-1, 2))
    costs = dataclasses.replace(costs, buffer_of_output=np.array(buffers))
    grouping = nested_groupings(graph, costs, len(ops))[-1]
    cluster = small_cluster(2, memory_bytes=memory_bytes, cpu=False)
    allowed = np.ones((grouping.group_count, 2), dtype=bool)
    return PlacementProblem(graph, costs, grouping, cluster, allowed, RunContext.of(Budget(100)))


def least_room(problem: PlacementProblem) -> int:
    """The least memory of two devices in which some placement fits."""
    placements = np.array(list(product((0, 1), repeat=problem.group_count)), dtype=np.int32)
    return int(problem.simulator.evaluate(placements).peak_bytes.max(axis=1).min())


def test_variables_that_all_devices_together_cannot_hold() -> None:
    ops = [Op(f"weight{at}", persistent=900) for at in range(3)]
    assert refusal(prepared(*ops)) == (
        "the variables need 2.64 KiB, more than the 1.95 KiB of all devices together; use more or larger "
        "devices: at least 3 × GPU with 0.98 KiB each, and more for what is computed",
        False,
    )


def test_an_op_that_fits_no_device() -> None:
    ops = [Op("large", time_us=5, outputs=[700]), Op("larger", ["large"], time_us=5, outputs=[600])]
    assert refusal(prepared(*ops)) == (
        "larger needs at least 1.27 KiB, more than the 0.98 KiB of any device where it may be; "
        "use a larger device, or a smaller batch",
        False,
    )


PARTS = [
    Op("list", time_us=5, outputs=[900]),
    Op("element", ["list"], time_us=5, outputs=[10]),
    Op("use", ["element"], time_us=5, outputs=[500]),
]


@pytest.mark.parametrize("pairs", [(), ((0, 1),)])
def test_of_a_buffer_on_another_device_only_what_is_sent_must_fit(pairs: tuple[tuple[int, int], ...]) -> None:
    """An element of a list shares the list's buffer, but elsewhere it is a small copy."""
    problem = problem_with(PARTS, [-1, 0, -1], pairs, memory_bytes=1000)
    assert least_room(problem) <= 1000
    require_room(problem, units_are_groups=False)


def test_a_buffer_that_must_be_on_the_device_of_its_user_counts_whole() -> None:
    problem = problem_with(PARTS, [-1, 0, -1], ((0, 1), (1, 2)), memory_bytes=1000)
    with pytest.raises(InfeasibleError, match=r"^3 ops that share a device .* need at least 1.37 KiB"):
        require_room(problem, units_are_groups=False)


@pytest.mark.parametrize("seed", range(60))
def test_nothing_that_fits_is_refused(seed: int) -> None:
    """The floors never lie above the least peak of all placements, for drawn sizes and buffers that are passed on."""
    rng = np.random.default_rng(seed)
    inputs = [int(rng.integers(at)) if at else -1 for at in range(5)]
    ops = [
        Op(f"op{at}", [f"op{inputs[at]}"] * bool(at), 5.0, [int(rng.integers(1, 1000))], int(rng.integers(0, 100)))
        for at in range(5)
    ]
    buffers = [inputs[at] if rng.random() < 0.7 else int(rng.choice([-1, -1, -2, -3])) for at in range(5)]
    pairs = tuple((inputs[at], at) for at in range(1, 5) if rng.random() < 0.3)
    room = least_room(problem_with(ops, buffers, pairs))
    require_room(problem_with(ops, buffers, pairs, memory_bytes=room), units_are_groups=False)


def test_co_located_variables_that_fit_no_device() -> None:
    ops = [Op(f"weight{at}", persistent=300) for at in range(4)]
    pairs = ((0, 1), (1, 2), (2, 3))
    graph = prepared(*ops, pairs=pairs, groups=4)
    sentence, evaluated = refusal(graph)
    assert not evaluated
    assert re.fullmatch(
        r"4 ops that share a device \(weight\d, weight\d, weight\d, …\) need at least 1.17 KiB, more than the "
        r"0.98 KiB of any device where they may be; use a larger device",
        sentence,
    )


def test_groups_that_a_person_fixed_can_be_smaller() -> None:
    ops = [Op(f"weight{at}", ["start"], persistent=600) for at in range(3)]
    sentence, _ = refusal(prepared(Op("start", time_us=5), *ops, groups=1))
    assert "read the graph with groups auto or all" in sentence


def test_more_evaluations_are_advised_only_where_the_method_would_use_them() -> None:
    """Three weights of 600 on two devices of 1,000: each fits, and so does their sum, but no placement does."""
    ops = [Op(f"weight{at}", persistent=600, time_us=5) for at in range(3)]
    sentence, evaluated = refusal(prepared(*ops), "random")
    assert evaluated
    assert sentence.endswith("; use more or larger devices, or allow more evaluations")
    sentence, _ = refusal(prepared(*ops), "exhaustive", 400)
    assert sentence.endswith("; use more or larger devices, or the method auto, which searches longer")


def test_what_fits_is_not_refused() -> None:
    request = RunRequest(small_cluster(2, memory_bytes=1000, cpu=False), "random", Budget(20), 0)
    assert place(prepared(*FITS), request, lambda _: None, lambda: False)["feasible"]


def test_groups_that_contiguous_stages_cannot_part_must_fit_one_device() -> None:
    """The first group gives to the second one and takes from it, so data would come back to a device."""
    ops = [Op("a", outputs=[8], persistent=300), Op("b", ["a"], 5.0, [8], persistent=800), Op("c", ["b"], 5.0)]
    cluster = small_cluster(2, memory_bytes=1000, cpu=False)
    for contiguous in (False, True):
        alone = problem_of_ops(*graph_of(ops), cluster, Stream(2, Pipeline.INFERENCE, contiguous))
        of_op = np.array([0, 1, 0], np.int32)
        grouping = dataclasses.replace(alone.grouping, names=("ends", "middle"), group_of_op=of_op)
        problem = dataclasses.replace(alone, grouping=grouping, allowed=np.ones((2, 2), dtype=bool))
        if not contiguous:
            require_room(problem, units_are_groups=False)
            continue
        words = r"3 ops that no contiguous stages can part \(b, a, c\) need at least .*do without contiguous stages"
        with pytest.raises(InfeasibleError, match=words):
            require_room(problem, units_are_groups=False)
