"""Costs that TensorFlow's own estimator gives for a graph, for every device kind, without such a device.

Done in a child process: it loads TensorFlow, and the file is untrusted. `grappler.py` is the child's side.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from engine.child import Limits, ReportProgress, no_progress, require_size, run_in_child
from engine.clusters.catalogue import CATALOGUE
from engine.costs.costs import Costs
from engine.errors import CostError, shortened
from engine.events import Json
from engine.graphs.graph import ComputationGraph
from engine.graphs.graphdef_messages import require_suffix
from engine.graphs.reading_options import ReadingOptions

ESTIMATING = "estimating the costs"
AS_IT_IS = ReadingOptions()
ONE_ITERATION = (
    "What is estimated counts one iteration of each while loop, since the file does not say how many there are; "
    "measured times count them all."
)


def estimate_costs(
    path: Path,
    suffix: str,
    graph: ComputationGraph,
    kinds: Sequence[str],
    limits: Limits,
    report_progress: ReportProgress = no_progress,
    options: ReadingOptions = AS_IT_IS,
) -> Costs:
    """Costs of `graph`, which was read from the GraphDef in `path`, on each of the catalogue's `kinds`.

    `options` give inputs a batch size and shapes. An op whose shapes are not all known has `Source.UNKNOWN` and a
    reason; its time and bytes are then the least that they can be (unknown lengths count as one). Raises CostError for
    an unknown kind or a graph that TensorFlow refuses; SettingsError for options that the graph cannot meet; GraphError
    and LimitError where the child fails.

    Every output counts as memory of its own: an over-estimate for what TensorFlow passes on without a copy (`Identity`,
    `ReadVariableOp`, `Reshape`), since an output has one number of bytes, which a transfer needs in any case. The
    estimator tells of no temporary memory for most ops, the workspace of a convolution among them: it is then 0. An op
    in a while loop counts for one iteration, since the file does not say how many there are.
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
        "engine.costs.grappler:estimate_in_child", order, limits, task=ESTIMATING, report_progress=report_progress
    )
    if cast(list[str], texts["op_names"]) != list(graph.op_names):
        raise CostError("the file has changed since it was read", where=shortened(path.name), field="file")
    return costs_of_arrays(arrays, kinds)


def costs_of_arrays(arrays: Mapping[str, NDArray[np.generic]], kinds: Sequence[str]) -> Costs:
    """Of what `grappler.estimate_in_child` gives."""
    return Costs(
        kinds=tuple(kinds),
        time_us=arrays["time_us"].astype(np.float64, copy=False),
        output_offset=arrays["output_offset"].astype(np.int64, copy=False),
        output_bytes=arrays["output_bytes"].astype(np.int64, copy=False),
        persistent_bytes=arrays["persistent_bytes"].astype(np.int64, copy=False),
        temporary_bytes=arrays["temporary_bytes"].astype(np.int64, copy=False),
        source=arrays["source"].astype(np.uint8, copy=False),
        unknown=arrays["unknown"].astype(np.uint8, copy=False),
    )


def notes_on_estimates(graph: ComputationGraph) -> tuple[str, ...]:
    """What people should know of the estimates for `graph`, a sentence each."""
    return (ONE_ITERATION,) if len(graph.back_edges) else ()
