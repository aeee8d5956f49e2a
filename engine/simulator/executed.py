"""The part of a graph that a step executes: in a branch that is not taken nothing runs, and nothing is sent or held."""

import dataclasses

import numpy as np

from engine.costs.costs import OWN_BUFFER, Costs
from engine.graphs.edge_trips import trips_of_edges
from engine.graphs.graph import ComputationGraph


def executed_part(graph: ComputationGraph, costs: Costs) -> tuple[ComputationGraph, Costs]:
    """`graph` without the edges to and from ops of no trips, and `costs` without those ops' outputs and temporaries.

    The ops and their persistent bytes stay. Where every op is executed, both are returned unchanged.
    """
    trips = costs.trips_of_op()
    executed = trips > 0
    if executed.all():
        return graph, costs
    sent = trips_of_edges(graph, trips) > 0
    ends = {name: getattr(graph, name)[sent] for name in ("edge_source", "edge_target", "edge_output")}
    of_output = np.repeat(executed, np.diff(costs.output_offset))
    buffers = costs.buffers()
    passes_on = buffers >= 0
    never_comes = ~(of_output & of_output[np.maximum(buffers, 0)])
    contents = costs.contents_bytes
    buffers = np.where(passes_on & never_comes, OWN_BUFFER, buffers)
    return dataclasses.replace(graph, **ends), dataclasses.replace(
        costs,
        output_bytes=np.where(of_output, costs.output_bytes, 0),
        temporary_bytes=np.where(executed, costs.temporary_bytes, 0),
        contents_bytes=np.where(of_output, contents, 0) if len(contents) else contents,
        buffer_of_output=buffers if passes_on.any() else costs.buffer_of_output,
    )
