"""The simulator's speed on synthetic training steps and on Inception-V3: `python -m engine bench simulator`."""

from engine.experiments.learning_curve import GRAPH, prepared_graph
from engine.simulator import bench


def run_benchmark() -> str:
    """All figures as Markdown, with the machine."""
    prepared = prepared_graph(lambda _: None)
    name = f"{GRAPH}, {prepared.graph.op_count:,} ops"
    inception = bench.BenchGraph(name, prepared.graph, prepared.costs, prepared.grouping.group_of_op)
    return bench.run_benchmark([inception])
