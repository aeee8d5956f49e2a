"""The task of the `gpu` queue that trains policies."""

import uuid

from celery import shared_task

from webapp.policies.models import Policy
from webapp.policies.training import train_policy


@shared_task(name=Policy.TASK)  # type: ignore[untyped-decorator]  # Celery is untyped
def train(policy_id: str) -> None:
    """Train one policy."""
    train_policy(uuid.UUID(policy_id))
