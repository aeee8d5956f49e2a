"""Converts a prepared graph into a networkx graph, for computations in Python."""

from typing import TYPE_CHECKING

import numpy as np

from engine.costs.costs import CostSource
from engine.graphs.graph import CONTROL
from engine.prepared import PreparedGraph

if TYPE_CHECKING:
    import networkx


def digraph(prepared: PreparedGraph) -> "networkx.DiGraph[str]":
    """A new networkx graph of the ops by name, in the order of the file, and their edges, with costs and groups.

    An op has `type`, `group` (number), `device` (that the file fixes, or empty), `time_us` {device kind: µs of one
    execution, unknown kinds left out}, `trips` a step, `output_bytes` [outputs], `persistent_bytes`, `temporary_bytes`,
    `source` of its costs (`estimated`, ...). An edge has `outputs`, the indices of the source op's outputs that its
    target takes, None for a control edge; `back`, whether it leads into the next iteration of a loop. The graph has
    `name`, `kinds`.
    """
    import networkx  # takes a moment to load

    graph, costs = prepared.graph, prepared.costs
    made: networkx.DiGraph[str] = networkx.DiGraph(name=graph.name, kinds=list(costs.kinds))
    trips, time_us = costs.trips_of_op(), costs.execution_times_us()
    known = ~np.isnan(time_us)
    for op, name in enumerate(graph.op_names):
        start, end = costs.output_offset[op : op + 2].tolist()
        made.add_node(
            name,
            type=graph.op_types[op],
            group=int(prepared.grouping.group_of_op[op]),
            device=graph.devices[op],
            time_us={kind: float(time_us[row, op]) for row, kind in enumerate(costs.kinds) if known[row, op]},
            trips=int(trips[op]),
            output_bytes=costs.output_bytes[start:end].tolist(),
            persistent_bytes=int(costs.persistent_bytes[op]),
            temporary_bytes=int(costs.temporary_bytes[op]),
            source=CostSource(int(costs.source[op])).name.lower(),
        )
    names = graph.op_names
    rows = zip(graph.edge_source.tolist(), graph.edge_target.tolist(), graph.edge_output.tolist(), strict=True)
    for source, target, output in rows:
        if not made.has_edge(names[source], names[target]):
            made.add_edge(names[source], names[target], outputs=[], back=False)
        made.edges[names[source], names[target]]["outputs"].append(None if output == CONTROL else output)
    for source, target in graph.back_edges.tolist():
        made.add_edge(names[source], names[target], outputs=[0], back=True)
    return made
