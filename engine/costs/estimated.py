"""Costs that TensorFlow's own estimator gives for a graph, for every device kind, without such a device.

Done in a child process: it loads TensorFlow, and the file is untrusted. `estimating.py` is the child's side.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from engine.child.parent import Limits, ReportProgress, no_progress, require_size, run_in_child
from engine.clusters.catalogue import CATALOGUE
from engine.costs.costs import Costs
from engine.errors import CostError, shortened
from engine.events import Json
from engine.graphs.graph import ComputationGraph
from engine.graphs.graphdef_messages import require_suffix
from engine.graphs.origin import Origin
from engine.graphs.reading_options import MOST_TRIPS, ReadingOptions

ESTIMATING = "estimating the costs"
AS_IT_IS = ReadingOptions()
SHOWN = 3
"""loops named in a note"""
LOST_SHAPES = (
    "The file lacks {}, as a function's GraphDef does when it is written without add_shapes=True: ops that use {} may "
    "have no known cost. Export the graph with as_graph_def(add_shapes=True) or as a SavedModel, or give {}."
)
Rows: TypeAlias = tuple[Mapping[str, Json], ...]


@dataclass(frozen=True, slots=True)
class Estimates:
    """The costs of a graph, and what was found on the way to them, as `Origin` has it."""

    costs: Costs
    loops: Rows = ()
    branches: Rows = ()
    sizes: Rows = ()
    batch_helps: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    """what people should know of the estimates, a sentence each"""

    def added_to(self, origin: Origin) -> Origin:
        """`origin` with what was found."""
        return replace(
            origin,
            notes=(*origin.notes, *self.notes),
            loops=self.loops,
            branches=self.branches,
            sizes=self.sizes,
            batch_helps=self.batch_helps,
        )


def estimate_costs(
    path: Path,
    suffix: str,
    graph: ComputationGraph,
    kinds: Sequence[str],
    limits: Limits,
    report_progress: ReportProgress = no_progress,
    options: ReadingOptions = AS_IT_IS,
) -> Estimates:
    """Costs of `graph`, which was read from the GraphDef in `path`, on each of the catalogue's `kinds`.

    `options` give inputs a batch size and shapes. An op whose shapes are not all known has `Source.UNKNOWN` and a
    reason; its time and bytes are then the least that they can be (unknown lengths count as one). One whose shapes
    depend on data is costed at the largest that they can be, and has `Source.BOUNDED`. Raises CostError for an unknown
    kind or a graph that TensorFlow refuses; SettingsError for options that the graph cannot meet; ChildError and
    LimitError where the child fails.

    Every output counts as memory of its own: an over-estimate for what TensorFlow passes on without a copy (`Identity`,
    `ReadVariableOp`, `Reshape`), since an output has one number of bytes, which a transfer needs in any case. The
    estimator tells of no temporary memory for most ops, the workspace of a convolution among them: it is then 0. An op
    in a while loop has the loop's trips; where these are not known one is counted, and a note says so.
    """
    require_suffix(suffix, path)
    require_size(path, limits)
    for kind in kinds:
        if kind not in CATALOGUE:
            raise CostError("no figures of this device kind", where=shortened(kind), allowed=", ".join(CATALOGUE))
    report_progress(ESTIMATING, 0, 0)
    order: dict[str, Json] = {"path": str(path.absolute()), "suffix": suffix, "kinds": list(kinds)}
    order["options"] = options.to_json()
    arrays, texts = run_in_child(
        "engine.costs.estimating:estimate_in_child", order, limits, task=ESTIMATING, report_progress=report_progress
    )
    if cast(list[str], texts["op_names"]) != list(graph.op_names):
        raise CostError("the file has changed since it was read", where=shortened(path.name), field="file")
    return estimates_of(arrays, texts, kinds)


def estimates_of(
    arrays: Mapping[str, NDArray[np.generic]], texts: Mapping[str, Json], kinds: Sequence[str]
) -> Estimates:
    """Of what `estimating.estimate_in_child` gives."""
    rows = {key: tuple(cast(list[dict[str, Json]], texts[key])) for key in ("loops", "branches", "sizes")}
    notes = tuple(_notes(rows["loops"], cast(int, texts["lost_shapes"])))
    loops = tuple({key: value for key, value in row.items() if key != "too_many"} for row in rows["loops"])
    batch_helps = tuple(cast(list[int], texts["batch_helps"]))
    return Estimates(_costs(arrays, kinds), loops, rows["branches"], rows["sizes"], batch_helps, notes)


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
    )


def _notes(loops: Rows, lost_shapes: int) -> Iterator[str]:
    """What people should know of the estimates."""
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
