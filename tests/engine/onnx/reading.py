"""Reads an ONNX file in the test's own process, as a child does: no Python process is started."""

from pathlib import Path

from engine.child.parent import Limits, no_progress
from engine.costs.costs import Costs
from engine.files.archive import from_fields
from engine.formats.reading import AS_IT_IS, check_in_child, grouped, order_of, read_in_child
from engine.graphs.graph import ComputationGraph
from engine.graphs.origin import Origin
from engine.graphs.reading_options import ReadingOptions
from engine.prepared import PreparedGraph


def read_here(path: Path, options: ReadingOptions = AS_IT_IS) -> PreparedGraph:
    """The graph in `path`, each op a group of its own."""
    arrays, texts = read_in_child(order_of(path, path.suffix, options, Limits()), path.parent, no_progress)
    graph, costs = from_fields(ComputationGraph, arrays, texts), from_fields(Costs, arrays, texts)
    grouping, levels = grouped(graph, costs, None)
    return PreparedGraph(graph, costs, grouping, from_fields(Origin, arrays, texts), levels)


def check_here(path: Path, options: ReadingOptions = AS_IT_IS) -> object:
    """The open inputs of the graph in `path`, as a check gives them."""
    return check_in_child(order_of(path, path.suffix, options, Limits()), path.parent, no_progress)[1]
