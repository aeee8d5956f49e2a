"""What was read of a graph as lines: each thing that a summary holds, and nothing of what it lacks."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from engine import api
from engine.cli.reading_summary import ROWS_SHOWN, left_to_people, what_was_read
from engine.costs.costs import CostSource
from engine.graphs.grouping.grouping import group_ops
from engine.graphs.origin import Origin
from engine.graphs.reading_options import ReadingOptions
from engine.prepared import PreparedGraph
from tests.engine.graphs.graph_samples import make_costs, make_graph

HINT = "  Give the trips of a loop with --trips NAME=N."


def loop(name: str, trips: int, source: str, ops: int = 3) -> dict[str, Any]:
    return {"name": name, "trips": trips, "source": source, "ops": ops}


def summary(origin: Origin | None = None, **costs: Any) -> Mapping[str, Any]:
    """Of a chain of four ops; one is estimated, one bounded, one measured, one unknown."""
    graph = make_graph(["a", "b", "c", "d"], [("a", "b"), ("b", "c"), ("c", "d")])
    sources = [CostSource.ESTIMATED, CostSource.BOUNDED, CostSource.MEASURED, CostSource.UNKNOWN]
    made = dataclasses.replace(make_costs(4), source=np.array(sources, dtype=np.uint8), **costs)
    return PreparedGraph(graph, made, group_ops(graph, made, None), origin or Origin()).summary()


def lines(origin: Origin | None = None, **costs: Any) -> list[str]:
    return list(what_was_read(summary(origin, **costs)))


def test_nothing_is_reported_of_what_nobody_has_looked_for() -> None:
    reported = lines()
    assert reported[:3] == ["Graph: sample", "4 ops, 1 type, 3 edges, 4 groups", "Outputs: 400 B; variables: 0 B"]
    assert "FLOPs of a step: not counted" in reported
    words = ("Loops", "Branches", "Sizes", "Read as", "A batch size", "need a CPU")
    assert [line for line in reported if line.startswith(words)] == []


def test_the_operations_of_a_step_are_summed_with_trips_and_shared_out_by_source() -> None:
    counts: dict[str, Any] = {"flops": np.array([6_000_000, 10_000, 1, 0]), "trips": np.array([1, 300, 1_000_000, 1])}
    known = dataclasses.replace(make_costs(4), source=np.array([2, 4, 3, 3], dtype=np.uint8), **counts)
    graph = make_graph(["a", "b", "c", "d"], [])
    whole = PreparedGraph(graph, known, group_ops(graph, known, None)).summary()
    assert "FLOPs of a step: 10.0 M: 60 % estimated, 30 % bounded, 10 % measured" in list(what_was_read(whole))
    reported = next(line for line in lines(**counts) if line.startswith("FLOPs"))
    assert reported == (
        "FLOPs of a step: at least 10.0 M; 1 op that may be heavy is unknown: no type × 1. "
        "Of the known FLOPs 60 % estimated, 30 % bounded, 10 % measured."
    )


def test_an_op_that_does_no_arithmetic_or_does_not_run_leaves_the_sum_exact() -> None:
    counts: dict[str, Any] = {"flops": np.array([6, 0, 0, 0]), "trips": np.array([1, 1, 1, 0])}
    assert "FLOPs of a step: 6: 100 % estimated" in lines(**counts)


def test_inputs_whose_lengths_stay_open_are_named_as_the_option() -> None:
    rows = ({"name": "image", "shape": "8,?,?,3"}, {"name": "any", "shape": ""})
    *_, title, first, second = left_to_people(summary(Origin(open_inputs=rows)))
    assert title == "Inputs whose shapes stay open: 2. Give their lengths, a number for each ?:"
    assert (first, second) == ("  --input-shape image=8,?,?,3", "  --input-shape any=LENGTHS")


def test_where_the_times_come_from_is_counted_in_ops() -> None:
    reported = "Op times: 1 bounded (25 %), 1 estimated (25 %), 1 measured (25 %), 1 unknown (25 %)"
    assert reported in lines()


@pytest.mark.parametrize("source", api.TRIPS_FROM)
def test_each_loop_is_reported_with_where_its_trips_come_from(source: str) -> None:
    reported = lines(Origin(loops=(loop("while", 40, source), loop("other", 1, "constant", 1))))
    start = reported.index("Loops: 2")
    assert reported[start + 1] == f"  while: 40 trips ({api.TRIPS_FROM[source]}) of 3 ops"
    assert reported[start + 2] == "  other: 1 trip (written in the file) of 1 op"
    assert (HINT in reported) == (source in ("at most", "assumed"))


def test_branches_and_sizes_are_reported() -> None:
    branches: tuple[dict[str, Any], ...] = ({"name": "cond", "taken": "else", "ops": 30, "ops_not_taken": 12},)
    sizes: tuple[dict[str, Any], ...] = (
        {"name": "nms", "type": "NonMaxSuppressionV3", "length": 100, "source": "bound"},
        {"name": "Where", "type": "Where", "length": 7, "source": "given"},
        {"name": "odd", "type": "Unique", "length": None, "source": "unknown"},
    )
    reported = lines(Origin(branches=branches, sizes=sizes))
    start = reported.index("Branches: 1. One side of each counts: the one that the file picks, else the costlier one.")
    assert reported[start + 1 : start + 7] == [
        "  cond: else counts, 12 of 30 ops do not",
        "Sizes that depend on data: 3",
        "  nms (NonMaxSuppressionV3): 100, the largest possible",
        "  Where (Where): 7, given",
        "  odd (Unique): unknown",
        "  Give the length that the data will have with --size NAME=N.",
    ]


def test_what_a_person_has_given_is_not_asked_for() -> None:
    given: dict[str, Any] = {"name": "Where", "type": "Where", "length": 7, "source": "given"}
    reported = lines(Origin(loops=(loop("while", 40, "given"),), sizes=(given,)))
    assert "  while: 40 trips (given) of 3 ops" in reported
    assert "  Where (Where): 7, given" in reported
    assert [line for line in reported if "NAME=N" in line] == []


def test_the_first_of_many_are_listed_with_the_number_of_others() -> None:
    reported = lines(Origin(loops=tuple(loop(f"loop_{index}", 2, "constant") for index in range(ROWS_SHOWN + 5))))
    assert sum(line.startswith("  loop_") for line in reported) == ROWS_SHOWN
    assert "  and 5 more" in reported


def test_options_format_and_notes_are_reported() -> None:
    options = ReadingOptions("serve", 8, {"images": (8, 3), "rate": ()}, {"while": 40}, {"Where": 7})
    reported = lines(Origin(".zip", options.to_json(), notes=("One function was inlined.",)))
    shapes = "input shape images=8,3, input shape rate="
    assert f"Read as: .zip, signature serve, batch size 8, {shapes}, trips while=40, size Where=7" in reported
    assert "One function was inlined." in reported
    chosen = lines(Origin(".zip", ReadingOptions(fetches=("train", "loss:0"), tags=()).to_json()))
    assert 'Read as: .zip, tags "", fetches train, loss:0' in chosen


def layer(label: str, flops: float | None, parameters: int | None, constants: int | None) -> dict[str, Any]:
    counts = {"flops": flops, "parameters": parameters, "constants": constants}
    return {"name": f"model/{label}", "label": label, "ops": 2, "persistent_bytes": 0, "output_bytes": 0} | counts


def test_the_layers_with_most_flops_are_reported_in_their_order() -> None:
    layers = [layer(f"small_{index}", 1.0, 0, 0) for index in range(ROWS_SHOWN)]
    layers.insert(1, layer("large", 900.0, 1_000, 24))
    layers.append(layer("none", 0.0, 1, 0))
    counts: dict[str, Any] = {"flops": np.array([920, 0, 0, 0])}
    reported = lines(Origin(layers=tuple(layers)), **counts)
    start = reported.index("Parameters: 1,001 in variables, 24 in constants")
    assert reported[start + 1] == f"Layers: {ROWS_SHOWN + 2}; the {ROWS_SHOWN} with most known FLOPs"
    assert reported[start + 3] == "  large: 900 known FLOPs (98 %), 1,024 parameters, 2 ops"
    assert [line for line in reported if line.startswith("  none")] == []
    uncounted = lines(Origin(layers=(layer("a", None, None, None), layer("b", None, None, None))))
    assert [line for line in uncounted if line.startswith(("Layers", "Parameters"))] == []


def test_every_command_reports_what_is_not_known_and_what_a_batch_size_brings() -> None:
    assert list(left_to_people(summary(Origin(batch_helps=(1, 1))))) == [
        "Ops without a known cost: 1. Their times and bytes are lower bounds.",
        f"  d: {summary()['unknown'][0][2]}",
        "A batch size (--batch-size N) makes the cost of this op known.",
    ]


@pytest.mark.parametrize(
    ("helps", "costs"),
    [((2, 2), "costs of all 2 of these ops"), ((1, 2), "costs of 1 of these 2 ops"), ((1, 1), "cost of this op")],
)
def test_a_batch_size_that_helps_is_asked_for(helps: tuple[int, int], costs: str) -> None:
    *_, reported = left_to_people(summary(Origin(batch_helps=helps)))
    assert reported == f"A batch size (--batch-size N) makes the {costs} known."


def test_a_batch_size_that_helps_nothing_is_not_asked_for() -> None:
    assert [line for line in left_to_people(summary(Origin(batch_helps=(0, 1)))) if "batch" in line] == []


def test_the_step_on_one_device_is_reported_with_and_without_rests() -> None:
    reported = lines()
    start = reported.index("Simulated step on one device, with the time to launch each op: any device 26.8 µs")
    assert reported[start + 1] == "Ops alone, without rests: any device 4.00 µs"
