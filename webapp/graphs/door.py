"""Where large bodies may come in: at the upload address of a project that exists, and nowhere else."""

from django.conf import settings
from django.urls import Resolver404, resolve

FORM_AROUND_FILE_BYTES = 64 * 1024
"""for the other fields and the borders of the multipart form"""


async def upload_limit_bytes(path: str) -> int | None:
    """The limit for a body sent to `path`, or None for the usual one."""
    from webapp.projects.models import Project  # needs Django's apps, which the ASGI module loads after importing us

    try:
        match = resolve(path)
    except Resolver404:
        return None
    if match.view_name != "graphs:upload":
        return None
    if not await Project.objects.filter(id=match.kwargs["project_id"]).aexists():
        return None
    return int(settings.UPLOAD_LIMIT_BYTES) + FORM_AROUND_FILE_BYTES
