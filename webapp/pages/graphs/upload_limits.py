"""The addresses that take large bodies: forms with files, of a project or a graph that exists."""

from django.conf import settings
from django.urls import Resolver404, resolve

from engine.api import MOST_POLICY_BYTES

FORM_AROUND_FILE_BYTES = 64 * 1024
"""for the other fields and the boundaries of the multipart form"""


async def upload_limit_bytes(path: str) -> int | None:
    """The limit for a body sent to `path`, or None for the default one."""
    # These need Django's apps, which the ASGI module loads after importing this one.
    from webapp.graphs.models import Graph
    from webapp.projects.models import Project

    try:
        match = resolve(path)
    except Resolver404:
        return None
    if match.view_name == "policies:upload":
        return MOST_POLICY_BYTES + FORM_AROUND_FILE_BYTES
    if match.view_name == "graphs:upload":
        exists = await Project.objects.filter(id=match.kwargs["project_id"]).aexists()
    elif match.view_name == "graphs:again":
        exists = await Graph.objects.filter(id=match.kwargs["graph_id"]).aexists()
    else:
        exists = False
    if not exists:
        return None
    return int(settings.UPLOAD_LIMIT_BYTES) + FORM_AROUND_FILE_BYTES
