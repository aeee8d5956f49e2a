"""The one read path of a training's events, for the live view and for afterwards."""

import uuid

from webapp.policies.models import PolicyEvent


def events_after(policy_id: uuid.UUID, seq: int, limit: int) -> list[tuple[int, str]]:
    """At most `limit` events of the policy that come after event `seq`, in order: number and JSON text."""
    rows = PolicyEvent.objects.filter(policy_id=policy_id, seq__gt=seq).order_by("seq")
    return list(rows.values_list("seq", "data")[:limit])
