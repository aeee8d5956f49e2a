"""All methods on one graph: the best run of each method on each cluster, and the baselines beside them."""

import json
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import Count, F, Max, Window
from django.db.models.functions import RowNumber
from django.http import HttpRequest, JsonResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from webapp.graphs.models import Graph
from webapp.jobs.models import Event
from webapp.json_field import to_text
from webapp.pages.graphs.page import graph_or_404
from webapp.runs.cluster_words import cluster_words, links_words
from webapp.runs.method_labels import method_labels
from webapp.runs.models import Answer, Run

MOST_CLUSTERS = 10
"""the ones that were used last"""
FIRST_EVENTS = 40
"""of a run: its start and all its baselines are among them"""
ALIKE = ("cluster", "drop_devices", "method", "policy_name")
"""Runs that differ in nothing of these are one row."""
OTHERS = ("id", "seed", "evaluations_used", "best_step_time_us", "created_at", "started_at", "finished_at")

Row = Mapping[str, Any]


@require_safe
@never_cache
def methods(_request: HttpRequest, graph_id: uuid.UUID) -> JsonResponse:
    """The clusters of the graph's ended runs, the one used last first, each with a row for each method."""
    clusters: dict[tuple[str, bool], list[Row]] = {}
    for run in _best_runs(graph_or_404(graph_id)):
        clusters.setdefault((to_text(run["cluster"]), run["drop_devices"]), []).append(run)
    shown = list(clusters.values())[:MOST_CLUSTERS]
    newest = [max(runs, key=lambda run: run["created_at"]) for runs in shown]
    starts = _starts(run["id"] for run in newest)
    ids = [run["id"] for runs in shown for run in runs]
    reports = dict(Answer.objects.filter(run__in=ids).values_list("run", "report"))
    found = [_cluster(runs, last["id"], starts, reports) for runs, last in zip(shown, newest, strict=True)]
    return JsonResponse({"clusters": found, "other_clusters": len(clusters) - len(shown)})


def _best_runs(graph: Graph) -> Iterable[Row]:
    """The best run of each method on each cluster; those of the cluster used last come first."""
    ended = Run.objects.filter(graph=graph, status__in=(Run.DONE, Run.CANCELLED), best_step_time_us__isnull=False)
    ended = ended.filter(start__isnull=True)  # what goes on from a placement is not the method's own
    ended = ended.filter(stream__isnull=True)  # a period of a stream is no step time
    alike = [F(name) for name in ALIKE]
    best_first = [F("best_step_time_us").asc(), F("created_at").asc(), F("id").asc()]
    rows: Iterable[Row] = (
        ended.order_by()
        .annotate(
            place=Window(RowNumber(), partition_by=alike, order_by=best_first),
            runs=Window(Count("id"), partition_by=alike),
            newest_at=Window(Max("created_at"), partition_by=[F("cluster"), F("drop_devices")]),
        )
        .filter(place=1)
        .order_by("-newest_at", "best_step_time_us", "id")
        .values(*ALIKE, *OTHERS, "runs")
    )
    return rows


def _starts(run_ids: Iterable[uuid.UUID]) -> dict[uuid.UUID, dict[str, list[Row]]]:
    """The events `started` and `baseline` of each run, by type."""
    found: dict[uuid.UUID, dict[str, list[Row]]] = {run_id: {"started": [], "baseline": []} for run_id in run_ids}
    events = Event.objects.filter(job_id__in=list(found), seq__lte=FIRST_EVENTS, type__in=("started", "baseline"))
    for job_id, kind, text in events.order_by("job_id", "seq").values_list("job_id", "type", "data"):
        found[job_id][kind].append(json.loads(text))
    return found


def _cluster(
    runs: list[Row],
    newest: uuid.UUID,
    starts: Mapping[uuid.UUID, Mapping[str, list[Row]]],
    reports: Mapping[uuid.UUID, Any],
) -> dict[str, object]:
    """One cluster with its rows: baselines come from the run that was made last on it."""
    started, baselines = starts[newest]["started"], starts[newest]["baseline"]
    times = {event["method"]: event["step_time_us"] for event in baselines}
    placed = [event for event in baselines if event["step_time_us"] is not None]
    cluster = runs[0]["cluster"]
    return {
        "words": cluster_words(cluster),
        "links": links_words(cluster),
        "drop_devices": runs[0]["drop_devices"],
        "devices": [device["name"] for device in cluster["devices"]],
        "one_device_us": times.get("single_device"),
        "lower_bound_us": started[0]["lower_bound_us"] if started else None,
        "rows": [_run_row(run, reports.get(run["id"])) for run in runs] + [_baseline_row(e, newest) for e in placed],
    }


def _run_row(run: Row, report: Any) -> dict[str, object]:
    report = report if isinstance(report, dict) else {}
    seconds = (run["finished_at"] - run["started_at"]).total_seconds() if run["started_at"] else None
    return {
        "url": reverse("runs:detail", args=[run["id"]]),
        "method": run["method"],
        "label": _label(run["method"]),
        "policy": run["policy_name"],
        "runs": run["runs"],
        "seed": run["seed"],
        "evaluations": run["evaluations_used"],
        "step_time_us": run["best_step_time_us"],
        "peak_bytes": report.get("peak_bytes"),
        "wall_seconds": report.get("wall_seconds", seconds),
    }


def _baseline_row(event: Row, run_id: uuid.UUID) -> dict[str, object]:
    """An event of an earlier version says neither how long it took nor its memory."""
    has_placement = event.get("placement") is not None
    return {
        "url": reverse("runs:detail", args=[run_id]) + (f"?show=baseline-{event['method']}" if has_placement else ""),
        "method": event["method"],
        "label": _label(event["method"]),
        "policy": "",
        "runs": 0,
        "seed": None,
        "evaluations": event["evaluations"],
        "step_time_us": event["step_time_us"],
        "peak_bytes": event.get("peak_bytes"),
        "wall_seconds": event.get("wall_seconds"),
    }


def _label(method: str) -> str:
    return method_labels().get(method, method)
