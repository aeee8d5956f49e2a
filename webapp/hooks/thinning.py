"""The chore that removes old deliveries from the log."""

from datetime import timedelta

from django.db.models import OuterRef, Q, Subquery
from django.db.models.functions import Now

from webapp.hooks.models import Delivery
from webapp.hooks.noting import OVERLAP

KEPT_FOR = timedelta(days=30)
KEPT_ROWS = 1000
"""of a webhook, beside those of the last hour"""
ALWAYS_KEPT_FOR = 6 * OVERLAP
"""longer than a look goes back, which would tell anew what is no longer there"""
ROWS_A_STEP = 200


def thin_deliveries() -> bool:
    """Remove some rows that ended long ago, or of which their webhook has many newer ones; False if none are left."""
    ended = Delivery.objects.filter(status__in=(Delivery.DONE, Delivery.FAILED, Delivery.CANCELLED))
    newer = Delivery.objects.filter(webhook=OuterRef("webhook")).order_by("-created_at", "id")
    last_kept = Subquery(newer.values("created_at")[KEPT_ROWS - 1 : KEPT_ROWS])
    old = Q(created_at__lt=Now() - KEPT_FOR) | (Q(created_at__lt=Now() - ALWAYS_KEPT_FOR) & Q(created_at__lt=last_kept))
    ids = list(ended.filter(old).values_list("id", flat=True)[:ROWS_A_STEP])
    Delivery.all_rows.filter(id__in=ids).delete()
    return len(ids) == ROWS_A_STEP
