"""Reads a queued graph: builds it if it is a sample, then reads, costs and groups it."""

import hashlib
import uuid
from collections.abc import Callable

from django.db import transaction

from engine import api
from webapp.graphs.models import Graph, PreparedBlob
from webapp.graphs.uploads import limits
from webapp.jobs.attempt import attempt
from webapp.jobs.claim import Claim
from webapp.jobs.heartbeat import Heartbeat
from webapp.jobs.memory_shares import share_of_memory
from webapp.jobs.progress_report import ProgressReport
from webapp.json_field import to_text


def read_graph(graph_id: uuid.UUID) -> bool:
    """Wait until its memory is free, claim the graph and read it; False if it cannot be claimed."""
    graph = Graph.objects.filter(id=graph_id).first()
    if graph is None:
        return False
    with share_of_memory(most_memory_bytes(graph)):
        return _read(graph)


def most_memory_bytes(graph: Graph) -> int:
    """The limit of the children that build and read it, one after the other."""
    return max(limits().memory_bytes, api.BUILD_LIMITS.memory_bytes if graph.sample else 0)


def _read(graph: Graph) -> bool:
    claim = Claim.take(Graph, graph.id)
    if claim is None:
        return False
    with attempt(claim), Heartbeat(claim, chore=lambda: None) as heartbeat:
        report_progress = ProgressReport(claim)
        if graph.sample:
            _build_sample(claim, graph, report_progress, heartbeat.raise_if_lost)
        store_prepared(claim, _prepared(graph, report_progress, heartbeat.raise_if_lost))
    check_writing(graph.id)
    return True


def check_writing(graph_id: uuid.UUID) -> None:
    """Store in the summary why no placed SavedModel can be written of a SavedModel that has been read; nothing if one
    can. The graph is ready before, since this takes as long as reading it.
    """
    graph = Graph.objects.filter(id=graph_id, status=Graph.READY).first()
    if graph is None or not graph.is_saved_model or graph.saved_model_refusal or not isinstance(graph.summary, dict):
        return
    try:
        api.require_saved_model(graph.source_path, graph.suffix, limits(), graph.own_options.reading)
    except (api.GraphError, api.LimitError) as error:
        summary = graph.summary | {"saved_model_refusal": str(error)}
        Graph.objects.filter(id=graph_id).update(summary=summary)


def _build_sample(
    claim: Claim[Graph], graph: Graph, report_progress: api.ReportProgress, pulse: Callable[[], None]
) -> None:
    graph.source_path.parent.mkdir(mode=0o700, exist_ok=True)
    draft = graph.source_path.with_name(f"{graph.id}.{claim.token}.draft")
    try:
        api.build(graph.sample, draft, report_progress, pulse=pulse)
        with draft.open("rb") as file:
            content_hash = hashlib.file_digest(file, "sha256").hexdigest()
        claim.update(file_bytes=draft.stat().st_size, content_hash=content_hash)
        draft.replace(graph.source_path)
    finally:
        draft.unlink(missing_ok=True)


def _prepared(graph: Graph, report_progress: api.ReportProgress, pulse: Callable[[], None]) -> api.PreparedGraph:
    options = graph.own_options
    return api.prepare(
        graph.source_path,
        graph.suffix,
        report_progress,
        limits(),
        groups=options.groups,
        name=graph.name,
        options=options.reading,
        run_metadata=graph.times_path if graph.has_times else None,
        profile_kind=options.profile_kind,
        pulse=pulse,
    )


def store_prepared(claim: Claim[Graph], prepared: api.PreparedGraph) -> None:
    """Store the result of the reading: the graph is ready. Raises ClaimLostError."""
    summary, blob, view = prepared.summary(), prepared.to_bytes(), to_text(prepared.view())
    with transaction.atomic():
        counts = {"op_count": summary["ops"], "group_count": summary["groups"]}
        claim.end(Graph.READY, summary=summary, **counts, stage="", stage_done=0, stage_total=0)
        PreparedBlob.objects.update_or_create(graph_id=claim.job_id, defaults={"blob": blob, "view": view})
