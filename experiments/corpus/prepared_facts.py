"""What the corpus's list says of a prepared graph, and its place in the cache."""

from pathlib import Path
from typing import Any

from engine.files.whole_files import write_whole
from engine.prepared import PreparedGraph
from experiments.corpus.cached import path_in
from experiments.corpus.digest import group_graph_digest


def keep(cache: Path, prepared: PreparedGraph, library: str, architecture: str, mode: str) -> None:
    """Write the graph into the cache."""
    path = path_in(cache, "graphs", library, architecture, mode)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, prepared.to_bytes())


def facts_of(prepared: PreparedGraph) -> dict[str, Any]:
    """The part of a row that follows from the graph alone."""
    costs = prepared.costs
    flops = int((costs.flops * costs.trips_of_op()).sum()) if len(costs.flops) else 0
    return {
        "digest": group_graph_digest(prepared),
        "ops": prepared.graph.op_count,
        "groups": prepared.grouping.group_count,
        "edges": len(prepared.grouping.edge_source),
        "levels": [*prepared.levels.group_counts] if prepared.levels else [],
        "flops": flops,
        "activation_bytes": int(costs.new_bytes_of_op().sum()),
    }
