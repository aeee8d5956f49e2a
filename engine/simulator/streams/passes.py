"""Which passes a graph has, and whether they suit the order of a stream."""

import numpy as np

from engine.errors import SettingsError
from engine.graphs.graph import BACKWARD, ComputationGraph
from engine.graphs.phases import phases_of_graph
from engine.simulator.streams.stream import Pipeline, Stream
from engine.simulator.topology import topological_order


def has_backward_pass(graph: ComputationGraph) -> bool:
    """Whether any op belongs to a backward pass."""
    return bool(np.any(phases_of_graph(graph, topological_order(graph)) == BACKWARD))


def usual_pipeline(graph: ComputationGraph) -> Pipeline:
    """The order for a graph of which nothing else is said."""
    return Pipeline.ONE_F_ONE_B if has_backward_pass(graph) else Pipeline.INFERENCE


def require_passes(graph: ComputationGraph, stream: Stream) -> None:
    """Raise SettingsError unless the graph has the passes that the order of `stream` is for."""
    trains, asks = has_backward_pass(graph), stream.pipeline is not Pipeline.INFERENCE
    if trains == asks:
        return
    allowed = ", ".join(each for each in Pipeline if each is not Pipeline.INFERENCE) if trains else Pipeline.INFERENCE
    what = f"{stream.pipeline}, and the graph has {'a' if trains else 'no'} backward pass"
    raise SettingsError(what, where="pipeline", allowed=allowed, field="pipeline")
