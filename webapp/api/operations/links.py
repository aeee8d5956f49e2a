"""Read-only links to runs, comparisons, searches for plans and graphs: list, make, revoke."""

import uuid
from datetime import datetime

from django.http import HttpRequest
from ninja import Query, Status
from pydantic import BaseModel, Field

from webapp.access.marks import AccessRule, ruled
from webapp.api.answers import CREATED, NOTHING, out_of
from webapp.api.form_schemas import FormBody, fields_of, filled
from webapp.api.paging import PageOut, PageQuery, page_of_rows
from webapp.api.routing import ApiRouter
from webapp.http.user_errors import row_or_404
from webapp.jobs import deletion
from webapp.pages.comparisons.page import comparison_or_404
from webapp.pages.graphs.page import graph_or_404
from webapp.pages.plans.page import search_or_404
from webapp.pages.runs.page import run_or_404
from webapp.pages.sharing.links import LinkForm, new_link
from webapp.projects.access import Role
from webapp.sharing.models import Shared, ShareLink

router = ApiRouter(tags=["Links"])

outside = ruled(AccessRule(Role.EDITOR, admin_scope=True))
"""marks what lets others than members see something; an answer with an address is shown once, and kept for no key"""


class LinkOut(BaseModel):
    """A link; its address was shown when it was made, and is stored nowhere."""

    id: uuid.UUID
    created_at: datetime
    expires_at: datetime | None = Field(description="When it stops opening anything; null: never.")
    last_used_at: datetime | None


class LinkPage(PageOut[LinkOut]):
    """A page of links, newest first."""


class NewLinkOut(BaseModel):
    """A new link. Its address is shown this once."""

    url: str


@fields_of(LinkForm)
class LinkBody(FormBody):
    """The view that it opens, as an address has it after `?`, and for how many days: 7, 30, 365 or without an end."""


def _links(target: Shared, query: PageQuery) -> object:
    return page_of_rows(target.share_links.all(), query, lambda link: out_of(LinkOut, link))


def _share(request: HttpRequest, target: Shared, body: LinkBody) -> Status[NewLinkOut]:
    asked = filled(LinkForm, body).cleaned_data
    return Status(CREATED, NewLinkOut(url=new_link(request, target, **asked)))


@router.get("/runs/{uuid:run_id}/links", response=LinkPage)
@outside
def list_links_of_run(request: HttpRequest, run_id: uuid.UUID, query: Query[PageQuery]) -> object:
    """List the links to a run, newest first."""
    return _links(run_or_404(run_id), query)


@router.post("/runs/{uuid:run_id}/links", response={CREATED: NewLinkOut})
@outside
def share_run(request: HttpRequest, run_id: uuid.UUID, body: LinkBody) -> Status[NewLinkOut]:
    """Make a link that shows a run, and nothing else, to everybody who has it."""
    return _share(request, run_or_404(run_id), body)


@router.get("/comparisons/{uuid:comparison_id}/links", response=LinkPage)
@outside
def list_links_of_comparison(request: HttpRequest, comparison_id: uuid.UUID, query: Query[PageQuery]) -> object:
    """List the links to a comparison, newest first."""
    return _links(comparison_or_404(comparison_id), query)


@router.post("/comparisons/{uuid:comparison_id}/links", response={CREATED: NewLinkOut})
@outside
def share_comparison(request: HttpRequest, comparison_id: uuid.UUID, body: LinkBody) -> Status[NewLinkOut]:
    """Make a link that shows a comparison, and nothing else, to everybody who has it."""
    return _share(request, comparison_or_404(comparison_id), body)


@router.get("/plans/{uuid:search_id}/links", response=LinkPage)
@outside
def list_links_of_search(request: HttpRequest, search_id: uuid.UUID, query: Query[PageQuery]) -> object:
    """List the links to a search for plans, newest first."""
    return _links(search_or_404(search_id), query)


@router.post("/plans/{uuid:search_id}/links", response={CREATED: NewLinkOut})
@outside
def share_search(request: HttpRequest, search_id: uuid.UUID, body: LinkBody) -> Status[NewLinkOut]:
    """Make a link that shows a search for plans, and nothing else, to everybody who has it."""
    return _share(request, search_or_404(search_id), body)


@router.get("/graphs/{uuid:graph_id}/links", response=LinkPage)
@outside
def list_links_of_graph(request: HttpRequest, graph_id: uuid.UUID, query: Query[PageQuery]) -> object:
    """List the links to a graph, newest first."""
    return _links(graph_or_404(graph_id), query)


@router.post("/graphs/{uuid:graph_id}/links", response={CREATED: NewLinkOut})
@outside
def share_graph(request: HttpRequest, graph_id: uuid.UUID, body: LinkBody) -> Status[NewLinkOut]:
    """Make a link that shows a graph, and nothing else, to everybody who has it."""
    return _share(request, graph_or_404(graph_id), body)


@router.delete("/links/{uuid:link_id}", response={NOTHING: None})
@outside
def revoke_link(request: HttpRequest, link_id: uuid.UUID) -> Status[None]:
    """Revoke a link: it opens nothing from now on."""
    deletion.delete(row_or_404(ShareLink.objects.all(), link_id, "link"))
    return Status(NOTHING, None)
