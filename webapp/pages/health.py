"""The health of the parts that the web server needs."""

from http import HTTPStatus

from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from webapp.jobs.publishing import broker_fault


@require_safe
@never_cache
def health(_request: HttpRequest) -> JsonResponse:
    """200 and "ok" twice, or 503 and the fault of each part that does not answer."""
    parts = {"database": _database() or "ok", "broker": broker_fault() or "ok"}
    well = all(answer == "ok" for answer in parts.values())
    return JsonResponse(parts, status=HTTPStatus.OK if well else HTTPStatus.SERVICE_UNAVAILABLE)


def _database() -> str:
    """Why the database does not answer; an empty string if it does."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        return f"{type(error).__name__}: {error}"
    return ""
