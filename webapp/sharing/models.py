"""Secret links, each to one run, comparison, graph or search for plans."""

import secrets
import uuid
from datetime import datetime
from typing import ClassVar, TypeAlias

from django.db import models, transaction
from django.http import Http404
from django.utils import timezone

from engine import api
from webapp.accounts.models import digest_of
from webapp.comparisons.models import Comparison
from webapp.graphs.models import Graph
from webapp.jobs.deletion import DELETED, LIVING, Deletable
from webapp.plans.models import PlanSearch
from webapp.runs.models import Run

TOKEN_BYTES = 32
MOST_LINKS = 50
"""of one page"""


Shared: TypeAlias = Run | Comparison | Graph | PlanSearch
COLUMNS: dict[type[Shared], str] = {Run: "run", Comparison: "comparison", Graph: "graph", PlanSearch: "search"}
"""what links show → the column"""


class ShareLink(Deletable):
    """A link that shows one run, comparison, graph or search for plans, and changes nothing.

    The database has only the SHA-256 of its token, so that neither a leak of the database nor a backup opens anything;
    the link itself is shown once, when it is made. A link is revoked by deleting it.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    digest = models.CharField(max_length=64, unique=True)
    """SHA-256 of the token, which is random and long enough that it needs no salt"""
    run = models.ForeignKey(Run, null=True, on_delete=models.CASCADE, related_name="share_links")
    comparison = models.ForeignKey(Comparison, null=True, on_delete=models.CASCADE, related_name="share_links")
    graph = models.ForeignKey(Graph, null=True, on_delete=models.CASCADE, related_name="share_links")
    search = models.ForeignKey(PlanSearch, null=True, on_delete=models.CASCADE, related_name="share_links")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True)
    """when it stops opening anything; None: never"""
    last_used_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering = ("-created_at",)
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(
                condition=models.Q(run__isnull=False, comparison=None, graph=None, search=None)
                | models.Q(run=None, comparison__isnull=False, graph=None, search=None)
                | models.Q(run=None, comparison=None, graph__isnull=False, search=None)
                | models.Q(run=None, comparison=None, graph=None, search__isnull=False),
                name="link_to_one_thing",
            )
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["run", "-created_at"], condition=LIVING, name="newest_links_of_run"),
            models.Index(fields=["comparison", "-created_at"], condition=LIVING, name="newest_links_of_comparison"),
            models.Index(fields=["graph", "-created_at"], condition=LIVING, name="newest_links_of_graph"),
            models.Index(fields=["search", "-created_at"], condition=LIVING, name="newest_links_of_search"),
            models.Index(fields=["deleted_at"], condition=DELETED, name="deleted_links"),
        ]

    def __str__(self) -> str:
        return f"link {self.id}"

    @property
    def target(self) -> Shared:
        """What it shows."""
        found: Shared = next(filter(None, (getattr(self, column) for column in COLUMNS.values())))
        return found

    @property
    def has_expired(self) -> bool:
        """Whether it opens nothing any more."""
        return self.expires_at is not None and self.expires_at <= timezone.now()


def make_link(target: Shared, expires_at: datetime | None = None) -> str:
    """Store a new link, which opens nothing from `expires_at` on, and return its token, which is stored nowhere.

    Raises LimitError.
    """
    token = secrets.token_urlsafe(TOKEN_BYTES)
    with transaction.atomic():
        if not type(target).objects.select_for_update().filter(id=target.id).exists():
            raise Http404("It has been deleted meanwhile.")
        if target.share_links.count() >= MOST_LINKS:
            raise api.LimitError(f"{MOST_LINKS} links to one page", allowed="fewer: revoke one that is not used")
        ShareLink.objects.create(digest=digest_of(token), expires_at=expires_at, **{COLUMNS[type(target)]: target})
    return token


def link_of(token: str) -> ShareLink | None:
    """The link with this token; None for an unknown, revoked or expired one.

    The time that this takes reveals nothing about stored tokens: what is looked up is a digest, which a caller cannot
    choose.
    """
    link = ShareLink.objects.select_related(*COLUMNS.values()).filter(digest=digest_of(token)).first()
    return None if link is None or link.has_expired else link
