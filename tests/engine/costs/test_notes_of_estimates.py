"""What people are told of a graph's estimates: lost shapes, loops whose trips nobody knows or believes."""

from collections.abc import Sequence

import pytest

from engine.costs.tensorflow.notes import notes_of

GIVE = "Give the trips if you know them."


def notes(assumed: Sequence[str], lost_shapes: int = 0, *, too_many: bool = False) -> tuple[str, ...]:
    return tuple(notes_of(assumed, lost_shapes, too_many=too_many))


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
    assert notes(["while"]) == (f"{reported} a loop, so one trip counts: while. {GIVE}",)
    many = [f"while_{index}" for index in range(4)]
    assert notes(many) == (f"{reported} 4 loops, so one trip counts: while_0, while_1, while_2, …. {GIVE}",)


def test_nothing_to_remark_gives_no_note() -> None:
    assert notes([]) == ()


def test_a_loop_of_too_many_trips_is_reported() -> None:
    found = notes([], too_many=True)
    assert found == ("A loop claims more than 1000000000 trips; one trip counts, or the number that you give.",)
