"""The costs that TensorFlow's own estimator gives for a graph on every device kind; no device is needed.

`tensorflow/estimating.py` does the work: importing that loads TensorFlow, importing this does not.
"""

from collections.abc import Sequence

from engine.child.parent import ReportProgress, no_progress
from engine.clusters.device_kinds import CATALOGUE
from engine.costs.cost_model import CostedGraph, GraphWithShapes
from engine.errors import CostError, shortened
from engine.graphs.tensorflow.messages import load_tensorflow

ESTIMATING = "estimating the costs"


class EstimatedCosts:
    """TensorFlow's own estimator, Grappler, as a `CostModel`.

    An op whose shapes are not all known has `CostSource.UNKNOWN` and a reason; its time and bytes are then lower bounds
    (unknown lengths count as one). An op whose shapes depend on data is costed at their upper bounds, and has
    `CostSource.BOUNDED`.

    An output that shares its buffer with an input or a variable (`Identity`, `ReadVariableOp`, `Reshape`) is named with
    it: see `tensorflow/shared_buffers.py`. The estimator reports no temporary memory for most ops, the workspace of
    a convolution among them: it is then 0. An op in a while loop has the loop's trips; where these are not known
    one trip counts, and a note says so.
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
        from engine.costs.tensorflow.estimating import estimate

        return estimate(graph.messages, graph.options, kinds, report_progress)
