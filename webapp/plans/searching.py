"""Carries out a queued search for plans: calls `engine.api.plan` and stores its events and its report."""

import uuid

from django.conf import settings

from engine import api
from webapp.jobs.attempt import attempt
from webapp.jobs.claim import Claim, ClaimLostError
from webapp.jobs.heartbeat import Heartbeat
from webapp.plans.models import PlanSearch
from webapp.plans.plan_store import PlanStore
from webapp.plans.requests import model_of, request_of


def search_plans(search_id: uuid.UUID) -> bool:
    """Claim the search and carry it out; False if it cannot be claimed."""
    claim = Claim.take(PlanSearch, search_id)
    if claim is None:
        return False
    with attempt(claim):
        search = claim.rows().select_related("graph__prepared", "second__prepared").first()
        if search is None:
            raise ClaimLostError(str(search_id))
        store = PlanStore(claim, search)
        heartbeat = Heartbeat(claim, chore=store.write)
        with heartbeat, api.limited_memory(settings.RUN_MEMORY_BYTES):
            _search(search, store, heartbeat)
    return True


def _search(search: PlanSearch, store: PlanStore, heartbeat: Heartbeat) -> None:
    report = None
    try:
        report = api.plan(model_of(search), request_of(search), store.emit, heartbeat.should_stop)
    except api.InfeasibleError:
        store.write()
        if not heartbeat.cancelled.is_set():
            raise
    except Exception:
        store.write()
        raise
    heartbeat.raise_if_lost()
    store.end_with(PlanSearch.CANCELLED if heartbeat.cancelled.is_set() else PlanSearch.DONE, report)
