"""What a worker does with deliveries, in tests: it looks for events, and sends what is due."""

from django.db.models.functions import Now

from webapp.hooks.models import Delivery, Webhook
from webapp.hooks.noting import note_events
from webapp.hooks.sending import send_delivery
from webapp.jobs.job import CHANGED, Job
from webapp.jobs.turns import next_in_turn


def ended(job: Job, status: str, **columns: object) -> None:
    """The job ends, as a claim's `end` stores it."""
    type(job).objects.filter(id=job.id).update(status=status, finished_at=Now(), **columns, **CHANGED)


def send_due() -> int:
    """Send every delivery that is due, once; returns how many."""
    sent = 0
    while (waiting := next_in_turn("cpu")) is not None and waiting.model is Delivery:
        due = Delivery.waiting().filter(webhook=waiting.owner_id).order_by("created_at", "id")
        assert send_delivery(due.values_list("id", flat=True)[0])
        sent += 1
    return sent


def look_and_send() -> list[Delivery]:
    """Look for events and send what is due; returns all deliveries, the oldest first."""
    note_events()
    send_due()
    return list(Delivery.objects.order_by("created_at", "id"))


def bring_on(delivery: Delivery) -> None:
    """The time of the next try has come."""
    assert Delivery.objects.filter(id=delivery.id, next_try_at__gt=Now()).update(next_try_at=Now()) == 1


def only(hook: Webhook) -> Delivery:
    """Its one delivery."""
    return hook.deliveries.get()
