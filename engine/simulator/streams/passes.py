"""Which passes a graph has, and whether a stream suits them and its size."""

import numpy as np

from engine.errors import SettingsError
from engine.graphs.graph import BACKWARD, ComputationGraph
from engine.graphs.phases import phases_of_graph
from engine.simulator.streams.loads import MOST_CONTIGUOUS
from engine.simulator.streams.recompute import require_no_loops
from engine.simulator.streams.stream import Pipeline, Stream
from engine.simulator.topology import topological_order

MOST_SIMULATED = 8_000_000
"""ops and edges of all micro-batches together: some 700 MB while a batch is simulated"""


def has_backward_pass(graph: ComputationGraph) -> bool:
    """Whether any op belongs to a backward pass."""
    return bool(np.any(phases_of_graph(graph, topological_order(graph)) == BACKWARD))


def usual_pipeline(graph: ComputationGraph) -> Pipeline:
    """The order for a graph of which nothing else is said."""
    return Pipeline.ONE_F_ONE_B if has_backward_pass(graph) else Pipeline.INFERENCE


def require_stream(graph: ComputationGraph, stream: Stream) -> None:
    """Raise SettingsError unless the graph has the passes of `stream` and a batch is small enough to be simulated."""
    size = graph.op_count + graph.edge_count
    if stream.micro_batches * size > MOST_SIMULATED:
        raise SettingsError(
            f"{stream.micro_batches} micro-batches of {size:,} ops and edges",
            where="micro_batches",
            allowed=f"at most {MOST_SIMULATED:,} ops and edges together, here {MOST_SIMULATED // size} micro-batches",
            field="micro_batches",
        )
    if stream.recomputes:
        require_no_loops(graph)
    trains, asks = has_backward_pass(graph), stream.pipeline is not Pipeline.INFERENCE
    if trains == asks:
        return
    allowed = ", ".join(each for each in Pipeline if each is not Pipeline.INFERENCE) if trains else Pipeline.INFERENCE
    what = f"{stream.pipeline}, and the graph has {'a' if trains else 'no'} backward pass"
    raise SettingsError(what, where="pipeline", allowed=allowed, field="pipeline")


def require_few_devices(stream: Stream, devices: int) -> None:
    """Raise SettingsError where it is not known of so many devices whether stages on them are contiguous."""
    if stream.contiguous and devices > MOST_CONTIGUOUS:
        what = f"contiguous stages on {devices} devices"
        raise SettingsError(what, where="contiguous", allowed=f"at most {MOST_CONTIGUOUS} devices", field="contiguous")
