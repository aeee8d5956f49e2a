"""The report of a comparison, and its figure."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from engine import VERSION
from engine.clusters.cluster_json import cluster_to_json
from engine.comparing.comparison import ComparisonRequest
from engine.comparing.figure import draw
from engine.comparing.outcome import Outcome
from engine.comparing.summary import summaries_of
from engine.costs.source_words import simulated_words
from engine.events import Json
from engine.graphs.grouping.nesting import SplitPlacement
from engine.placement_files import placement_to_json
from engine.placers.registry import PLACERS
from engine.prepared import PreparedGraph

LABELS: Mapping[str, str] = {name: method.label for name, method in PLACERS.items()}


def report_of(prepared: PreparedGraph, request: ComparisonRequest, outcomes: Sequence[Outcome]) -> dict[str, Json]:
    """The report of docs/formats.md: the comparison, `methods` (a summary each), `rows` (a report each, with curve)."""
    name = None if request.policy is None else request.policy.trained.card.name
    return {
        "graph": prepared.graph.name,
        "ops": prepared.graph.op_count,
        "groups": prepared.grouping.group_count,
        "cluster": cluster_to_json(request.cluster),
        "evaluations": request.budget.evaluations,
        "seconds": request.budget.seconds,
        "seeds": request.seeds,
        **({} if request.stream is None else {"stream": request.stream.to_json()}),
        **({"constraints": request.constraints.to_json()} if request.constraints else {}),
        "engine_version": VERSION,
        "step_time_source": simulated_words(prepared.op_time_sources()),
        "one_device_us": one_device_us(outcomes),
        "lower_bound_us": next((outcome.lower_bound_us for outcome in outcomes), None),
        "methods": [summary.to_json() for summary in summaries_of(outcomes, LABELS)],
        "policy": name,
        "rows": [_row(prepared, request, outcome, name) for outcome in outcomes],
    }


def _row(prepared: PreparedGraph, request: ComparisonRequest, outcome: Outcome, policy: str | None) -> dict[str, Json]:
    row = outcome.to_json()
    del row["device_of_group"], row["parts"], row["ended"]
    split = SplitPlacement(list(outcome.device_of_group), [list(part) for part in outcome.parts])
    placed: Json = dict(placement_to_json(prepared, request.cluster, split)) if split.device_of_group else None
    return row | {"policy": policy if request.takes_policy(outcome.method) else None, "placement": placed}


def one_device_us(outcomes: Sequence[Outcome]) -> float | None:
    """The step time of the best single device; None if none has room for the graph."""
    return next((outcome.one_device_us for outcome in outcomes if outcome.one_device_us is not None), None)


def draw_outcomes(
    prepared: PreparedGraph, request: ComparisonRequest, outcomes: Sequence[Outcome], folder: Path, name: str
) -> None:
    """Write the figure, `folder`/`name`.svg and .png."""
    title = title_of(prepared.graph.name, request)
    draw(summaries_of(outcomes, LABELS), title, one_device_us(outcomes), folder, name)


def title_of(graph_name: str, request: ComparisonRequest) -> str:
    """The figure's title."""
    kinds = ", ".join(sorted({device.kind for device in request.cluster.devices}))
    title = f"{graph_name} on {request.cluster.device_count} devices ({kinds}), {request.seeds} seeds"
    stream = request.stream
    return title if stream is None else f"{title}, {stream.micro_batches} micro-batches ({stream.pipeline})"
