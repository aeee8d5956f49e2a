"""What a user may use at most. Whoever starts something asks here first, in the transaction that stores it."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, F, QuerySet, Sum
from django.utils import timezone

from engine import api
from webapp.accounts.models import Quota, User
from webapp.accounts.quota_error import QuotaError
from webapp.accounts.visitor import acting

ASK = "ask an operator for more"


def quota_of(user: User) -> Quota:
    """The user's own limits, or those of everybody, or none."""
    own = Quota.objects.filter(user=user).first()
    return own or Quota.objects.filter(user=None).first() or Quota()


def _of_visitor() -> tuple[User, Quota] | None:
    """The user who acts and their limits, locked for the rest of the transaction; None without limits."""
    visitor = acting()
    if visitor.user is None or visitor.may_everything:
        return None
    User.objects.select_for_update().filter(id=visitor.user.id).first()  # a second request waits here for the first one
    return visitor.user, quota_of(visitor.user)


def require_upload(file_bytes: int, rows: QuerySet[Any], with_deleted: QuerySet[Any]) -> None:
    """Raise QuotaError if a file of that size is one too many.

    `rows`: all graphs, with `file_bytes` and `times_bytes`. `with_deleted`: those too whose purge is still to come.
    """
    found = _of_visitor()
    if found is None:
        return
    user, quota = found
    own = rows.filter(started_by=user)
    if quota.uploads_a_day is not None:
        today = with_deleted.filter(started_by=user, created_at__gte=_yesterday()).count()
        _require(today + 1, quota.uploads_a_day, "graphs added in 24 hours")
    if quota.disk_bytes is not None:
        used: int = own.aggregate(used=Sum(F("file_bytes") + F("times_bytes"), default=0))["used"]
        if used + file_bytes > quota.disk_bytes:
            raise QuotaError(
                f"your graphs take {api.bytes_words(used)}, and this one {api.bytes_words(file_bytes)}",
                allowed=f"{api.bytes_words(quota.disk_bytes)} together; delete some, or {ASK}",
            )


def require_run(evaluations: int, seconds: float | None, unended: Sequence[QuerySet[Any]]) -> None:
    """Raise QuotaError if a run, or a search, is one too many, or too long. `unended`: what has not ended, by kind."""
    found = _of_visitor()
    if found is None:
        return
    user, quota = found
    if quota.evaluations_a_run is not None:
        _require(evaluations, quota.evaluations_a_run, "evaluations of one run", "evaluations")
    if quota.seconds_a_run is not None and evaluations != 1 and (seconds is None or seconds > quota.seconds_a_run):
        given = "no limit of time" if seconds is None else f"{seconds:g} s for one run"
        raise QuotaError(given, allowed=f"at most {quota.seconds_a_run:g} s; or {ASK}", field="seconds")
    _require_at_once(user, quota.runs_at_once, "runs at once", unended)


def seconds_a_run() -> float | None:
    """The limit of time of a run that the user who acts starts without saying one; None without a limit."""
    visitor = acting()
    return None if visitor.user is None or visitor.may_everything else quota_of(visitor.user).seconds_a_run


def require_training(unended: QuerySet[Any]) -> None:
    """Raise QuotaError if a training is one too many. `unended`: those that have not ended."""
    found = _of_visitor()
    if found is not None:
        user, quota = found
        _require_at_once(user, quota.trainings_at_once, "trainings at once", (unended,))


def require_measuring() -> None:
    """Raise QuotaError if the user may not run graphs on the machine."""
    found = _of_visitor()
    if found is not None and not found[1].may_measure:
        raise QuotaError("you may not run graphs on this machine", allowed=f"simulated runs; or {ASK}")


def _require_at_once(user: User, limit: int | None, what: str, kinds: Sequence[QuerySet[Any]]) -> None:
    if limit is not None:
        own = sum(rows.filter(started_by=user).aggregate(count=Count("id"))["count"] for rows in kinds)
        _require(own + 1, limit, what)


def _require(count: int, limit: int, what: str, field: str = "") -> None:
    if count > limit:
        raise QuotaError(f"{count:,} {what}", allowed=f"at most {limit:,}; or {ASK}", field=field)


def _yesterday() -> datetime:
    return timezone.now() - timedelta(days=1)
