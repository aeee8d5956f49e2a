"""Measures a queued profile: calls `engine.api.profile`, which runs the graph in a child."""

import dataclasses
import uuid

from django.conf import settings
from django.db import transaction

from engine import api
from webapp.jobs.attempt import attempt
from webapp.jobs.claim import Claim
from webapp.jobs.heartbeat import Heartbeat
from webapp.jobs.progress_report import ProgressReport
from webapp.profiles.models import Profile


class ProfilingCancelledError(Exception):
    """Somebody has asked to stop; raised in a pulse, which ends the engine's child."""


def limits() -> api.Limits:
    """The limits on running one graph."""
    return dataclasses.replace(api.MEASURING_LIMITS, file_bytes=settings.UPLOAD_LIMIT_BYTES)


def profile_graph(profile_id: uuid.UUID) -> bool:
    """Claim the profile and measure; False if it cannot be claimed."""
    claim = Claim.take(Profile, profile_id)
    if claim is None:
        return False
    with attempt(claim), Heartbeat(claim, chore=lambda: None) as heartbeat:
        try:
            _profile(claim, heartbeat)
        except ProfilingCancelledError:
            claim.end(Profile.CANCELLED, stage="", stage_done=0, stage_total=0)
    return True


def _profile(claim: Claim[Profile], heartbeat: Heartbeat) -> None:
    profile = Profile.objects.select_related("graph").get(id=claim.job_id)
    graph = profile.graph

    def end_if_asked() -> None:
        heartbeat.raise_if_lost()
        if heartbeat.cancelled.is_set():
            raise ProfilingCancelledError

    profile.times_path.parent.mkdir(mode=0o700, exist_ok=True)
    draft = profile.times_path.with_name(f"{profile.id}.{claim.token}.pb")
    try:
        reading = graph.own_options.reading
        result = api.profile(
            graph.source_path, graph.suffix, draft, reading, limits(), ProgressReport(claim), pulse=end_if_asked
        )
        with transaction.atomic():
            claim.end(Profile.DONE, result=result, stage="", stage_done=0, stage_total=0)
            draft.replace(profile.times_path)
    finally:
        draft.unlink(missing_ok=True)
