"""The costs that TensorFlow's own estimator gives for a graph on every device kind; no device is needed.

`estimating.py` does the work: importing that loads TensorFlow, importing this does not.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from engine.child.parent import ReportProgress, no_progress
from engine.clusters.device_kinds import CATALOGUE
from engine.costs.cost_model import CostedGraph, GraphWithShapes, OpRows
from engine.costs.costs import Costs
from engine.errors import CostError, shortened
from engine.events import Json
from engine.graphs.reading_options import MOST_TRIPS
from engine.graphs.tensorflow.messages import load_tensorflow

ESTIMATING = "estimating the costs"
SHOWN = 3
"""loops named in a note"""
LOST_SHAPES = (
    "The file lacks {}, as a function's GraphDef does when it is written without add_shapes=True: ops that use {} may "
    "have no known cost. Export the graph with as_graph_def(add_shapes=True) or as a SavedModel, or give {}."
)


class EstimatedCosts:
    """TensorFlow's own estimator, Grappler, as a `CostModel`.

    An op whose shapes are not all known has `CostSource.UNKNOWN` and a reason; its time and bytes are then lower bounds
    (unknown lengths count as one). An op whose shapes depend on data is costed at their upper bounds, and has
    `CostSource.BOUNDED`.

    An output that shares its buffer with an input or a variable (`Identity`, `ReadVariableOp`, `Reshape`) is named with
    it: see `shared_buffers.py`. The estimator reports no temporary memory for most ops, the workspace of a convolution
    among them: it is then 0. An op in a while loop has the loop's trips; where these are not known one trip counts, and
    a note says so.
    """

    def costs_of(
        self, graph: GraphWithShapes, kinds: Sequence[str], report_progress: ReportProgress = no_progress
    ) -> CostedGraph:
        """Estimate the costs. Raises CostError for a graph that TensorFlow refuses, SettingsError for options that the
        graph cannot meet."""
        assert graph.messages is not None
        for kind in kinds:
            if kind not in CATALOGUE:
                raise CostError("no figures of this device kind", where=shortened(kind), allowed=", ".join(CATALOGUE))
        report_progress(ESTIMATING, 0, 0)
        load_tensorflow()
        from engine.costs.estimating import estimate

        return estimates_of(*estimate(graph.messages, graph.options, kinds, report_progress), kinds)


def estimates_of(
    arrays: Mapping[str, NDArray[np.generic]], texts: Mapping[str, Json], kinds: Sequence[str]
) -> CostedGraph:
    """The costs and findings in the results of `estimating.estimate`."""
    rows = {
        key: tuple(cast(list[dict[str, Json]], texts[key])) for key in ("loops", "branches", "sizes", "open_inputs")
    }
    notes = tuple(_notes(rows["loops"], cast(int, texts["lost_shapes"])))
    loops = tuple({key: value for key, value in row.items() if key != "too_many"} for row in rows["loops"])
    batch_helps = tuple(cast(list[int], texts["batch_helps"]))
    return CostedGraph(
        _costs(arrays, kinds), loops, rows["branches"], rows["sizes"], batch_helps, rows["open_inputs"], notes
    )


def _costs(arrays: Mapping[str, NDArray[np.generic]], kinds: Sequence[str]) -> Costs:
    return Costs(
        kinds=tuple(kinds),
        time_us=arrays["time_us"].astype(np.float64, copy=False),
        output_offset=arrays["output_offset"].astype(np.int64, copy=False),
        output_bytes=arrays["output_bytes"].astype(np.int64, copy=False),
        persistent_bytes=arrays["persistent_bytes"].astype(np.int64, copy=False),
        temporary_bytes=arrays["temporary_bytes"].astype(np.int64, copy=False),
        source=arrays["source"].astype(np.uint8, copy=False),
        unknown=arrays["unknown"].astype(np.uint8, copy=False),
        flops=arrays["flops"].astype(np.int64, copy=False),
        trips=arrays["trips"].astype(np.int64, copy=False),
        moved_bytes=arrays["moved_bytes"].astype(np.int64, copy=False),
        buffer_of_output=arrays["buffer_of_output"].astype(np.int64, copy=False),
        contents_bytes=arrays["contents_bytes"].astype(np.int64, copy=False),
        float_type=arrays["float_type"].astype(np.uint8, copy=False),
    )


def _notes(loops: OpRows, lost_shapes: int) -> Iterator[str]:
    """Remarks on the estimates for people, a sentence each."""
    if lost_shapes:
        is_one = lost_shapes == 1
        what = "the shape of a variable" if is_one else f"the shapes of {lost_shapes} variables"
        given = "it as an input shape" if is_one else "them as input shapes"
        yield LOST_SHAPES.format(what, "that variable" if is_one else "these variables", given)
    assumed = [str(row["name"]) for row in loops if row["source"] == "assumed"]
    if assumed:
        shown = ", ".join(shortened(name) for name in assumed[:SHOWN]) + ", …" * (len(assumed) > SHOWN)
        whose = "a loop" if len(assumed) == 1 else f"{len(assumed)} loops"
        yield (
            f"The file leaves open how often a step runs the body of {whose}, so one trip counts: {shown}. "
            "Give the trips if you know them."
        )
    if any(row["too_many"] for row in loops):
        yield f"A loop claims more than {MOST_TRIPS} trips; one trip counts, or the number that you give."
