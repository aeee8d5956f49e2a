"""Single steps on the way to costs, each in a child, for tests."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from engine.child.parent import Limits, ReportProgress, Results, run_in_child
from engine.costs.cost_model import GraphWithShapes
from engine.costs.costs import Costs
from engine.costs.estimated import EstimatedCosts
from engine.costs.measured import StepStats, step_stats_of
from engine.events import Json
from engine.files.archive import fields_of, from_fields
from engine.graphs.graph import ComputationGraph
from engine.graphs.tensorflow.graphdef_messages import read_messages
from engine.graphs.tensorflow.graphdef_nodes import graph_of_messages


def read_step_stats(path: Path, limits: Limits) -> StepStats:
    """The step stats in `path`."""
    return from_fields(
        StepStats, *run_in_child(f"{__name__}:stats_in_child", {"path": str(path)}, limits, is_warm=True)
    )


def stats_in_child(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Their fields."""
    return fields_of(step_stats_of(Path(cast(str, order["path"])).read_bytes()))


def estimated(path: Path, kinds: Sequence[str], limits: Limits) -> tuple[ComputationGraph, Costs]:
    """The graph in `path`, whose functions stay as they are, and its costs on `kinds` alone."""
    order: dict[str, Json] = {"path": str(path), "kinds": list(kinds)}
    arrays, texts = run_in_child(f"{__name__}:estimate_in_child", order, limits, is_warm=True)
    return from_fields(ComputationGraph, arrays, texts), from_fields(Costs, arrays, texts)


def estimate_in_child(order: dict[str, Json], _folder: Path, report_progress: ReportProgress) -> Results:
    """The fields of both."""
    path = Path(cast(str, order["path"]))
    messages = read_messages(path.read_bytes(), path.suffix)
    graph = graph_of_messages(messages, path.stem)
    costed = EstimatedCosts().costs_of(
        GraphWithShapes(graph, messages), cast(list[str], order["kinds"]), report_progress
    )
    (arrays, texts), (more_arrays, more_texts) = fields_of(graph), fields_of(costed.costs)
    return arrays | more_arrays, texts | more_texts
