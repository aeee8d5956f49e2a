"""Secret links, each to one run, comparison, graph or search for plans."""

import hashlib
import secrets
import uuid
from typing import ClassVar

from django.db import models, transaction
from django.http import Http404

from engine import api
from webapp.comparisons.models import Comparison
from webapp.graphs.models import Graph
from webapp.jobs.deletion import DELETED, LIVING, Deletable
from webapp.plans.models import PlanSearch
from webapp.runs.models import Run

TOKEN_BYTES = 32
MOST_LINKS = 50
"""of a run or a comparison"""


class ShareLink(Deletable):
    """A link that shows one run or one comparison, and changes nothing.

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


def make_link(target: Run | Comparison) -> str:
    """Store a new link and return its token, which is stored nowhere. Raises LimitError."""
    token = secrets.token_urlsafe(TOKEN_BYTES)
    key = "run" if isinstance(target, Run) else "comparison"
    with transaction.atomic():
        if not type(target).objects.select_for_update().filter(id=target.id).exists():
            raise Http404("It has been deleted meanwhile.")
        if target.share_links.count() >= MOST_LINKS:
            raise api.LimitError(f"{MOST_LINKS} links to one page", allowed="fewer: revoke one that is not used")
        ShareLink.objects.create(digest=digest_of(token), **{key: target})
    return token


def link_of(token: str) -> ShareLink | None:
    """The link with this token; None for an unknown or revoked one.

    The time that this takes reveals nothing about stored tokens: what is looked up is a digest, which a caller cannot
    choose.
    """
    return ShareLink.objects.select_related("run", "comparison").filter(digest=digest_of(token)).first()


def digest_of(token: str) -> str:
    """SHA-256 of the token, in hexadecimal."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
