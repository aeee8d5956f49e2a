"""Remarks on the estimates for people. Does not load TensorFlow."""

from collections.abc import Iterator, Sequence

from engine.errors import shortened
from engine.graphs.reading_options import MOST_TRIPS

SHOWN = 3
"""loops named in a note"""
LOST_SHAPES = (
    "The file lacks {}, as a function's GraphDef does when it is written without add_shapes=True: ops that use {} may "
    "have no known cost. Export the graph with as_graph_def(add_shapes=True) or as a SavedModel, or give {}."
)


def notes_of(assumed: Sequence[str], lost_shapes: int, *, too_many: bool) -> Iterator[str]:
    """A sentence for each remark.

    `assumed`: names of the loops whose trips nobody knows; `lost_shapes`: variables whose shapes the file lacks;
    `too_many`: whether a loop claims more trips than it may have.
    """
    if lost_shapes:
        is_one = lost_shapes == 1
        what = "the shape of a variable" if is_one else f"the shapes of {lost_shapes} variables"
        given = "it as an input shape" if is_one else "them as input shapes"
        yield LOST_SHAPES.format(what, "that variable" if is_one else "these variables", given)
    if assumed:
        shown = ", ".join(shortened(name) for name in assumed[:SHOWN]) + ", …" * (len(assumed) > SHOWN)
        whose = "a loop" if len(assumed) == 1 else f"{len(assumed)} loops"
        yield (
            f"The file leaves open how often a step runs the body of {whose}, so one trip counts: {shown}. "
            "Give the trips if you know them."
        )
    if too_many:
        yield f"A loop claims more than {MOST_TRIPS} trips; one trip counts, or the number that you give."
