"""A job's events for a browser: a page of them, and a stream."""

import uuid
from collections.abc import Callable
from http import HTTPStatus

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import URLPattern, path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_safe

from engine import api
from webapp.jobs.notices import listeners
from webapp.jobs.stream import MOST_STREAMS, Look, Source, messages, read
from webapp.json_field import to_text
from webapp.user_errors import error_answer

MOST_EVENTS_A_PAGE = 2000
LARGEST_SEQ = 2**63 - 1


def event_paths(address: str, source_of: Callable[[uuid.UUID], Source]) -> list[URLPattern]:
    """The addresses `events.json` and `events` below `address` and an id, which `source_of` takes."""

    @require_safe
    @never_cache
    def events_json(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
        return events_page(request, source_of(job_id))

    @require_GET
    async def stream(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse | StreamingHttpResponse:
        return await event_stream(request, source_of(job_id))

    return [
        path(f"{address}<uuid:job_id>/events.json", events_json, name="events"),
        path(f"{address}<uuid:job_id>/events", stream, name="stream"),
    ]


def events_page(request: HttpRequest, source: Source) -> HttpResponse:
    """At most `?limit=` events after number `?after=`, and the state. Raises Http404 if it has been deleted."""
    after = integer_in_address("after", request.GET.get("after", "0"), lowest=0, highest=LARGEST_SEQ)
    limit = integer_in_address("limit", request.GET.get("limit", "500"), lowest=1, highest=MOST_EVENTS_A_PAGE)
    look = _found(source.look(after, limit), source)
    data = ",".join(text for _, text in look.events)
    rest = to_text({**look.state, "last_seq": look.last_seq})
    return HttpResponse(f'{{"events":[{data}],{rest[1:]}', content_type="application/json")


async def event_stream(request: HttpRequest, source: Source) -> HttpResponse | StreamingHttpResponse:
    """The stream of events after `Last-Event-ID` (or `?after=`). Raises Http404 if it has been deleted."""
    after_text = request.headers.get("Last-Event-ID") or request.GET.get("after", "0")
    after = integer_in_address("after", after_text, lowest=0, highest=LARGEST_SEQ)
    _found(await read(source.look, after, 0), source)
    if listeners.count >= MOST_STREAMS:
        sentence = f"{MOST_STREAMS} streams are open already; events.json has the same events."
        return error_answer(request, HTTPStatus.SERVICE_UNAVAILABLE, {"": [sentence]})
    return StreamingHttpResponse(
        messages(source, after),
        content_type="text/event-stream",
        headers={"Cache-Control": "no-cache, no-store, no-transform", "X-Accel-Buffering": "no"},
    )


def _found(look: Look | None, source: Source) -> Look:
    if look is None:
        raise Http404(f"This {source.what} does not exist, or it has been deleted.")
    return look


def integer_in_address(name: str, text: str, *, lowest: int, highest: int) -> int:
    """An integer in the address. Raises SettingsError, which becomes a 400 answer."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(highest)) else -1
    if not lowest <= number <= highest:
        raise api.SettingsError(
            f"{text[:40]!r}", where=name, allowed=f"an integer from {lowest} to {highest}", field=name
        )
    return number
