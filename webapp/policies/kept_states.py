"""What trainings have left that ended without a file: made into the policy that they had learned until then."""

import logging
import uuid

from django.db import transaction

from engine import api
from webapp.policies.lifecycle import columns_of_file
from webapp.policies.models import Policy, PolicyFile, TrainingState

log = logging.getLogger(__name__)


def settle() -> int:
    """See to the states of trainings that have ended: lost, failed, stopped before they began again. Returns how many.

    Anybody may call it at any time; each state is seen to once. It loads no torch and needs no graph.
    """
    ended = TrainingState.objects.exclude(policy__status__in=(Policy.QUEUED, Policy.RUNNING))
    return sum(map(_settle, list(ended.values_list("policy_id", flat=True))))


def _settle(policy_id: uuid.UUID) -> bool:
    with transaction.atomic():
        policy = Policy.objects.select_for_update().defer("card").filter(id=policy_id).first()
        kept = TrainingState.objects.filter(policy_id=policy_id).first()
        if policy is None or kept is None or not policy.has_ended:
            return False
        if not policy.has_file:
            _keep(policy, bytes(kept.state))
        kept.delete()
    return True


def _keep(policy: Policy, state: bytes) -> None:
    """Give `policy` the file that is in `state`, and a note that says so; nothing where it had learned nothing."""
    plan = policy.training_plan
    assert plan is not None, "only trainings have states"
    row = Policy.objects.filter(id=policy.id)
    try:
        blob = api.learned_until(state, policy.name, plan.families)
    except api.PlacetoError as error:
        log.warning("the state of policy %s cannot be read: %s", policy.id, error)
        row.update(note=f"{policy.note} What it had learned until then was kept, but cannot be read any more.".strip())
        return
    if blob is None:
        return
    card = api.read_policy(blob, policy.name).card
    PolicyFile.objects.create(policy=policy, blob=blob)
    note = f"{policy.note} This is what it had learned after {card.seconds:.0f} s of training, as it was last kept."
    row.update(note=note.strip(), **columns_of_file(blob, card.to_json()))
