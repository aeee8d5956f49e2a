"""Carries out a queued run: calls `engine.api.place` and stores its events."""

import uuid
from functools import partial

from django.conf import settings

from engine import api
from webapp.jobs.attempt import attempt
from webapp.jobs.claim import Claim, ClaimLostError
from webapp.jobs.heartbeat import Heartbeat
from webapp.jobs.turns import others_wait
from webapp.jobs.yielding import Yielding, wait_behind_others
from webapp.runs.models import Run
from webapp.runs.requests import request_of
from webapp.runs.run_store import RunStore


def place_run(run_id: uuid.UUID) -> bool:
    """Claim the run and carry it out, from its checkpoint if it has one; False if it cannot be claimed."""
    claim = Claim.take(Run, run_id)
    if claim is None:
        return False
    with attempt(claim):
        run = claim.rows().select_related("graph__prepared").first()
        if run is None:
            raise ClaimLostError(str(run_id))
        store = RunStore(claim, run)
        heartbeat = Heartbeat(claim, chore=store.write, others_wait=partial(others_wait, run))
        with heartbeat, api.limited_memory(settings.RUN_MEMORY_BYTES):
            _place(claim, run, store, heartbeat)
    Run.clean_up_ended()
    return True


def _place(claim: Claim[Run], run: Run, store: RunStore, heartbeat: Heartbeat) -> None:
    prepared = run.graph.prepared.value
    saved = run.saved_state
    checkpoint = None if saved is None else bytes(saved.state)
    request, yielding = request_of(run), Yielding(heartbeat)
    report = None
    try:
        report = api.place(prepared, request, partial(_store, store, yielding), yielding.should_stop, checkpoint)
    except api.InfeasibleError as error:
        if not (yielding.has_yielded or heartbeat.cancelled.is_set()):
            store.write()
            claim.update(verdict=error.verdict)
            raise
    except Exception:
        store.write()
        raise
    if heartbeat.lost.is_set():
        raise ClaimLostError(str(run.id))
    if yielding.has_yielded:
        store.write()
        wait_behind_others(claim, run)
    else:
        store.end_with(Run.CANCELLED if heartbeat.cancelled.is_set() else Run.DONE, report)


def _store(store: RunStore, yielding: Yielding, item: api.Emitted) -> None:
    """The engine's `emit`: nothing is stored after the checkpoint at which the run yields."""
    if not yielding.has_yielded:
        store.emit(item)
        if isinstance(item, api.Checkpoint):
            yielding.saved()
