"""Carries out a queued run: calls `engine.api.place` and stores its events."""

import dataclasses
import uuid
from functools import partial

from django.conf import settings

from engine import api
from webapp.jobs.attempt import attempt
from webapp.jobs.claim import Claim, ClaimLostError
from webapp.jobs.heartbeat import Heartbeat
from webapp.jobs.turns import others_wait
from webapp.jobs.yielding import Yielding, wait_behind_others
from webapp.json_field import to_text
from webapp.policies.models import PolicyFile
from webapp.runs.baselines import BASELINES
from webapp.runs.models import Run, RunStart
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
    prepared = api.PreparedGraph.from_bytes(bytes(run.graph.prepared.blob))
    saved = run.saved_state
    checkpoint = None if saved is None else bytes(saved.state)
    request, yielding = with_start(run, with_policy(run, request_of(run))), Yielding(heartbeat)
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


def with_policy(run: Run, request: api.RunRequest) -> api.RunRequest:
    """`request` with the file of the run's policy, if it has one. Raises SettingsError if that has been deleted."""
    if not run.policy_digest:
        return request
    file = PolicyFile.objects.filter(policy=run.policy_id, policy__digest=run.policy_digest).first()
    if file is None:
        raise api.SettingsError("it has been deleted", where=run.policy_name, allowed="an existing policy")
    return dataclasses.replace(request, policy=bytes(file.blob))


def with_start(run: Run, request: api.RunRequest) -> api.RunRequest:
    """`request` with the placement that the run goes on from, if it has one."""
    start = RunStart.objects.filter(run=run).first()
    return request if start is None else start.asked_of(request)


def request_of(run: Run) -> api.RunRequest:
    """The engine's request for `run`, without its policy and its start, which only placing needs."""
    assert isinstance(run.settings, dict)
    return api.RunRequest(
        cluster=api.parse_cluster(to_text(run.cluster)),
        method=run.method,
        budget=api.Budget(run.evaluations, run.seconds),
        seed=run.seed,
        settings=run.settings,
        drop_devices=run.drop_devices,
        baselines=BASELINES,
        prefer=api.Preference.of_words(run.prefer),
    )
