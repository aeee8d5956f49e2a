"""The addresses that take large bodies: forms with files, most of them of a project or a graph that exists."""

import logging
from typing import Any

from django.conf import settings
from django.db import DatabaseError
from django.db.models import QuerySet
from django.urls import Resolver404, resolve

from engine.api import MOST_PLACEMENT_BYTES, MOST_POLICY_BYTES
from webapp.http.body_limit import Scope
from webapp.http.operations import name_of

log = logging.getLogger(__name__)

FORM_AROUND_FILE_BYTES = 64 * 1024
"""for the other fields and the boundaries of the multipart form"""


async def limit_of_request(scope: Scope) -> int | None:
    """The limit for the body of a request, or None for the default one, which is that of whoever has not logged in."""
    from webapp.access.early import is_of_somebody  # needs Django's apps, as below

    limit = await upload_limit_bytes(scope["method"], scope["path"])
    return limit if limit is None or await is_of_somebody(scope) else None


async def upload_limit_bytes(method: str, path: str) -> int | None:
    """The limit for a body sent to `path`, or None for the default one."""
    # These need Django's apps, which the ASGI module loads after importing this one.
    from webapp.graphs.models import Graph
    from webapp.projects.models import Project
    from webapp.uploads.models import PartialUpload
    from webapp.uploads.receiving import PART_BYTES

    limit = int(settings.UPLOAD_LIMIT_BYTES) + FORM_AROUND_FILE_BYTES
    try:
        match = resolve(path)
    except Resolver404:
        return None
    name = name_of(match, method)
    if name in ("policies:upload", "api:upload_policy"):
        return MOST_POLICY_BYTES + FORM_AROUND_FILE_BYTES
    if name == "placements:upload":
        return MOST_PLACEMENT_BYTES + FORM_AROUND_FILE_BYTES
    if name == "graphs:upload-first":
        return limit
    if name in ("graphs:upload", "api:upload_graph"):
        rows: QuerySet[Any] = Project.objects.filter(id=match.kwargs["project_id"])
    elif name in ("graphs:again", "api:read_graph_again"):
        rows = Graph.objects.filter(id=match.kwargs["graph_id"])
    elif name in ("api:send_part", "api:make_graph_of_upload"):
        rows = PartialUpload.objects.filter(id=match.kwargs["upload_id"])
        limit = PART_BYTES if name == "api:send_part" else limit
    else:
        return None
    try:
        if not await rows.aexists():
            return None
    except DatabaseError:
        log.warning("the database does not answer; the view will say so", exc_info=True)
    return limit
