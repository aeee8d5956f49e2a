"""What a worker does with a queued graph: build it if it is a sample, then read, cost and group it."""

import hashlib
import logging
import time
import uuid

from django.db import transaction

from engine import api
from webapp.graphs.models import Graph, PreparedBlob
from webapp.graphs.uploads import limits
from webapp.jobs.attempt import attempt
from webapp.jobs.claim import Claim
from webapp.jobs.keeper import Keeper
from webapp.json_text import to_text

log = logging.getLogger(__name__)

PROGRESS_EVERY_SECONDS = 0.5


def read_graph(graph_id: uuid.UUID) -> None:
    """Claim the graph and read it; does nothing where there is nothing to claim."""
    claim = Claim.take(Graph, graph_id)
    if claim is None:
        return
    graph = Graph.objects.get(id=graph_id)
    with attempt(claim), Keeper(claim, chore=lambda: None):
        report_progress = ProgressReport(claim)
        if graph.sample:
            _build_sample(claim, graph, report_progress)
        prepared = api.prepare(graph.source_path, graph.suffix, report_progress, limits(), name=graph.name)
        _store(claim, prepared)


def _build_sample(claim: Claim[Graph], graph: Graph, report_progress: api.ReportProgress) -> None:
    graph.source_path.parent.mkdir(mode=0o700, exist_ok=True)
    draft = graph.source_path.with_name(f"{graph.id}.{claim.token}.draft")
    try:
        api.build(graph.sample, draft, report_progress)
        with draft.open("rb") as file:
            content_hash = hashlib.file_digest(file, "sha256").hexdigest()
        claim.keep(file_bytes=draft.stat().st_size, content_hash=content_hash)
        draft.replace(graph.source_path)
    finally:
        draft.unlink(missing_ok=True)


def _store(claim: Claim[Graph], prepared: api.PreparedGraph) -> None:
    summary, blob, view = prepared.summary(), prepared.to_bytes(), to_text(prepared.view())
    with transaction.atomic():
        claim.end(Graph.READY, summary=summary, stage="", stage_done=0, stage_total=0)
        PreparedBlob.objects.update_or_create(graph_id=claim.job_id, defaults={"blob": blob, "view": view})


class ProgressReport:
    """Writes how far it is into the row, at most twice a second. Raises ClaimLostError if the graph is not ours."""

    def __init__(self, claim: Claim[Graph]) -> None:
        self._claim = claim
        self._stage = ""
        self._written_at = float("-inf")

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Called by the engine."""
        now = time.monotonic()
        if stage == self._stage and now - self._written_at < PROGRESS_EVERY_SECONDS:
            return
        self._stage, self._written_at = stage, now
        self._claim.keep(stage=stage[:200], stage_done=done, stage_total=total)
