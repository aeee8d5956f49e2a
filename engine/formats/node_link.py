"""Node-link JSON (`.json`), which brings its costs along. Runs in a child."""

from engine.child.parent import ReportProgress
from engine.costs.cost_model import GivenCosts, GraphWithShapes
from engine.costs.nodelink import read_nodelink
from engine.formats.format import ReadFile, Source
from engine.formats.graphdef import READING
from engine.graphs.origin import Origin


def check(source: Source, report_progress: ReportProgress) -> None:
    """Read it. Raises GraphError, CostError."""
    report_progress(READING, 0, 0)
    read_nodelink(source.path.read_bytes())


def read(source: Source, report_progress: ReportProgress) -> ReadFile:
    """The graph and its own costs. Raises GraphError, CostError."""
    report_progress(READING, 0, 0)
    graph, costs = read_nodelink(source.path.read_bytes())
    return ReadFile(GraphWithShapes(graph), GivenCosts(costs), Origin(source.suffix))
