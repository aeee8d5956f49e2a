"""Measures a queued profile: calls `engine.api.profile`, which runs the graph in a child."""

import dataclasses
import uuid

from django.conf import settings
from django.db import transaction

from engine import api
from webapp.jobs.engine_work import NO_STAGE, EngineWork, carry_out
from webapp.measuring.models import Profile


def limits() -> api.Limits:
    """The limits on running one graph."""
    memory_bytes = min(api.MEASURING_LIMITS.memory_bytes, settings.RUN_MEMORY_BYTES)
    return dataclasses.replace(api.MEASURING_LIMITS, file_bytes=settings.UPLOAD_LIMIT_BYTES, memory_bytes=memory_bytes)


def profile_graph(profile_id: uuid.UUID) -> bool:
    """Claim the profile and measure; False if it cannot be claimed."""
    return carry_out(Profile, profile_id, _profile)


def _profile(engine_work: EngineWork[Profile]) -> None:
    claim = engine_work.claim
    profile = Profile.objects.select_related("graph").get(id=claim.job_id)
    graph = profile.graph
    profile.times_path.parent.mkdir(mode=0o700, exist_ok=True)
    draft = profile.times_path.with_name(f"{profile.id}.{claim.token}.pb")
    try:
        reading = graph.own_options.reading
        result = api.profile(
            graph.source_path,
            graph.suffix,
            draft,
            reading,
            limits(),
            engine_work.report_progress,
            pulse=engine_work.pulse,
        )
        with transaction.atomic():
            claim.end(Profile.DONE, result=result, **NO_STAGE)
            draft.replace(profile.times_path)
    finally:
        draft.unlink(missing_ok=True)
