"""What people are told of a graph's estimates: lost shapes, loops whose trips nobody knows or believes."""

from typing import Any

import numpy as np
import pytest

from engine.costs.estimated import estimates_of
from engine.events import Json

ARRAYS: dict[str, Any] = {
    "time_us": np.ones((1, 1)),
    "output_offset": np.array([0, 1]),
    "output_bytes": np.array([4]),
    "buffer_of_output": np.zeros(1),
    "contents_bytes": np.zeros(1),
    **{key: np.zeros(1) for key in ("persistent_bytes", "temporary_bytes", "source", "unknown", "flops")},
    **{key: np.zeros(1) for key in ("moved_bytes", "float_type")},
    "trips": np.ones(1),
}
GIVE = "Give the trips if you know them."


def loop(name: str, source: str, *, too_many: bool = False) -> dict[str, Json]:
    return {"name": name, "trips": 1, "source": source, "ops": 3, "too_many": too_many}


def notes(loops: list[dict[str, Json]], lost_shapes: int = 0) -> tuple[str, ...]:
    texts: dict[str, Any] = {
        "loops": loops,
        "branches": [],
        "sizes": [],
        "batch_helps": [],
        "open_inputs": [],
        "lost_shapes": lost_shapes,
    }
    return estimates_of(ARRAYS, texts, ["K80"]).notes


@pytest.mark.parametrize(
    ("lost", "what", "given"),
    [
        (1, "the shape of a variable", "it as an input shape"),
        (162, "the shapes of 162 variables", "them as input shapes"),
    ],
)
def test_lost_shapes_are_reported_with_how_to_export_them(lost: int, what: str, given: str) -> None:
    [note] = notes([], lost)
    assert note.startswith(
        f"The file lacks {what}, as a function's GraphDef does when it is written without add_shapes"
    )
    assert note.endswith(f"Export the graph with as_graph_def(add_shapes=True) or as a SavedModel, or give {given}.")


def test_loops_of_unknown_trips_are_named_three_at_most() -> None:
    reported = "The file leaves open how often a step runs the body of"
    assert notes([loop("while", "assumed")]) == (f"{reported} a loop, so one trip counts: while. {GIVE}",)
    many = [loop(f"while_{index}", "assumed") for index in range(4)]
    assert notes(many) == (f"{reported} 4 loops, so one trip counts: while_0, while_1, while_2, …. {GIVE}",)


def test_loops_whose_trips_are_known_need_no_note() -> None:
    assert notes([loop(source, source) for source in ("constant", "length", "given", "at most")]) == ()


def test_a_loop_of_too_many_trips_is_reported() -> None:
    found = notes([loop("while", "given", too_many=True)])
    assert found == ("A loop claims more than 1000000000 trips; one trip counts, or the number that you give.",)
