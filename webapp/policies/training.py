"""Trains a queued policy: prepares its graphs, then calls `engine.api.train` once."""

import uuid
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from django.conf import settings

from engine import api
from webapp.graphs.models import Graph
from webapp.jobs.attempt import attempt
from webapp.jobs.claim import Claim, ClaimLostError
from webapp.jobs.heartbeat import Heartbeat
from webapp.jobs.turns import others_wait
from webapp.jobs.yielding import Yielding, wait_behind_others
from webapp.policies.models import Policy
from webapp.policies.training_plan import PlannedGraph, TrainingPlan
from webapp.policies.training_store import TrainingStore


class PreparingCancelledError(Exception):
    """Somebody has asked to stop; raised in `stop_if_asked`, which ends the engine's children."""


def train_policy(policy_id: uuid.UUID) -> bool:
    """Claim the policy and train it, from its last state if it has one; False if it cannot be claimed."""
    claim = Claim.take(Policy, policy_id)
    if claim is None:
        return False
    with attempt(claim):
        policy = claim.rows().first()
        if policy is None:
            raise ClaimLostError(str(policy_id))
        store = TrainingStore(claim, policy)
        heartbeat = Heartbeat(claim, chore=store.write, others_wait=partial(others_wait, policy))
        with heartbeat, api.limited_memory(settings.RUN_MEMORY_BYTES):
            _train(claim, policy, store, heartbeat)
    Policy.clean_up_ended()
    return True


def _train(claim: Claim[Policy], policy: Policy, store: TrainingStore, heartbeat: Heartbeat) -> None:
    plan = policy.training_plan
    assert plan is not None, "only trainings are queued"
    yielding = Yielding(heartbeat)

    def stop_if_asked() -> None:
        if heartbeat.should_stop():
            raise PreparingCancelledError

    try:
        request = request_of(policy.name, plan, store.report_preparation, stop_if_asked)
        checkpoint = store.state_of(api.training_identity(request))
        report_progress, save_state = partial(_report, store, yielding), partial(_save, store, yielding)
        blob = api.train(request, report_progress, yielding.should_stop, checkpoint, save_state)
    except PreparingCancelledError:
        _end_early(policy, store, heartbeat)
        return
    except Exception:
        store.write()
        raise
    if heartbeat.lost.is_set():
        raise ClaimLostError(str(policy.id))
    if yielding.has_yielded:
        store.write()
        wait_behind_others(claim, policy)
        return
    card = api.read_policy(blob, policy.name).card
    if heartbeat.cancelled.is_set() and not card.has_learned:
        _end_early(policy, store, heartbeat)
        return
    store.end_with(Policy.CANCELLED if heartbeat.cancelled.is_set() else Policy.DONE, blob, card.to_json())


def _report(store: TrainingStore, yielding: Yielding, progress: api.TrainingProgress) -> None:
    """The engine's `report_progress`: nothing is stored after the state at which the training yields."""
    if not yielding.has_yielded:
        store.report_progress(progress)


def _save(store: TrainingStore, yielding: Yielding, state: bytes) -> None:
    """The engine's `save_state`."""
    if not yielding.has_yielded:
        store.save_state(state)
        yielding.saved()


def _end_early(policy: Policy, store: TrainingStore, heartbeat: Heartbeat) -> None:
    """End a training that was cancelled before this attempt learned anything."""
    if heartbeat.lost.is_set():
        raise ClaimLostError(str(policy.id))
    store.end_with(Policy.CANCELLED, None, None)


def request_of(
    name: str, plan: TrainingPlan, report_progress: api.ReportProgress, stop_if_asked: Callable[[], None]
) -> api.TrainRequest:
    """The engine's request for `plan`; builds the families that the cache lacks. Raises a PlacetoError.

    `stop_if_asked` is called several times a second; an error that it raises ends the work.
    """
    graphs, held_out = _prepared(plan.graphs, stop_if_asked), _prepared(plan.held_out, stop_if_asked)
    cache = Path(settings.FAMILIES_FOLDER)
    for family in plan.families:
        prepared = api.prepared_family(family, cache, report_progress, pulse=stop_if_asked)
        graphs += prepared.train
        held_out += prepared.test
    report_progress("", 0, 0)
    return api.TrainRequest(
        graphs=tuple(graphs),
        held_out=tuple(held_out),
        clusters=tuple(api.parse_cluster(text) for text in plan.clusters),
        name=name,
        seed=plan.seed,
        settings=plan.settings(),
        families=plan.families,
    )


def _prepared(planned: Sequence[PlannedGraph], stop_if_asked: Callable[[], None]) -> list[api.PreparedGraph]:
    """Load the graphs. Raises GraphError if one has been deleted meanwhile."""
    rows = Graph.objects.filter(id__in=[graph.id for graph in planned]).select_related("prepared").in_bulk()
    prepared = []
    for graph in planned:
        stop_if_asked()
        row = rows.get(graph.id)
        if row is None or not row.is_ready:
            raise api.GraphError("it has been deleted meanwhile", where=graph.name, allowed="an existing graph")
        prepared.append(row.prepared.value)
    return prepared
