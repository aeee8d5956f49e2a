"""The chore that forgets the answers of yesterday."""

from datetime import timedelta

from django.db.models.functions import Now

from webapp.api.models import KeptAnswer

KEPT_FOR = timedelta(hours=24)
ROWS_A_STEP = 500


def remove_old_answers() -> bool:
    """Delete some of them; False if none were left."""
    old = KeptAnswer.objects.filter(created_at__lt=Now() - KEPT_FOR)
    ids = list(old.values_list("id", flat=True)[:ROWS_A_STEP])
    if ids:
        KeptAnswer.objects.filter(id__in=ids).delete()
    return bool(ids)
