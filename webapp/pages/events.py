"""A job's events for a browser: a page of them, and a stream."""

import hashlib
import uuid
from collections.abc import Callable
from http import HTTPStatus
from typing import TypeAlias

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import URLPattern, path
from django.utils.cache import add_never_cache_headers, get_conditional_response
from django.utils.http import quote_etag
from django.views.decorators.http import require_GET, require_safe

from engine import api
from webapp.access.gate import still_allowed
from webapp.http.handler import DATA, in_threads
from webapp.http.user_errors import error_answer
from webapp.jobs.notices import listeners
from webapp.jobs.shared_texts import SharedTexts
from webapp.jobs.stream import MOST_STREAMS, Look, Source, messages, read
from webapp.json_field import to_text
from webapp.pages.compressed import answer_of, compressed, takes_gzip

MOST_EVENTS_A_PAGE = 2000
LARGEST_SEQ = 2**63 - 1
MOST_SHARED_BYTES = 12 * 1024**2
"""of pages of events that several viewers may ask for"""
LEAST_SHARED_BYTES = 16 * 1024
"""a page below that is made for each viewer: it holds the latest news, and changes soon"""

PageKey: TypeAlias = tuple[Source, int, int, int, str, bool]

_pages: SharedTexts[bytes] = SharedTexts(MOST_SHARED_BYTES)


def event_paths(address: str, name: str, source_of: Callable[[uuid.UUID], Source]) -> list[URLPattern]:
    """The addresses `events.json` and `events` below `address` and the id `name`, which `source_of` takes."""

    @in_threads(DATA)
    @require_safe
    def events_json(request: HttpRequest, **ids: uuid.UUID) -> HttpResponse:
        return events_page(request, source_of(ids[name]))

    @require_GET
    async def stream(request: HttpRequest, **ids: uuid.UUID) -> HttpResponse | StreamingHttpResponse:
        return await event_stream(request, source_of(ids[name]), still_allowed(request))

    return [
        path(f"{address}<uuid:{name}>/events.json", events_json, name="events"),
        path(f"{address}<uuid:{name}>/events", stream, name="stream"),
    ]


def events_page(request: HttpRequest, source: Source) -> HttpResponse:
    """At most `?limit=` events after number `?after=`, and the state. Raises Http404 if it has been deleted.

    Viewers of the same page share its text. A browser may keep the page of a job that has ended; it asks whether the
    page is still the same.
    """
    after = integer_in_address("after", request.GET.get("after", "0"), lowest=0, highest=LARGEST_SEQ)
    limit = integer_in_address("limit", request.GET.get("limit", "500"), lowest=1, highest=MOST_EVENTS_A_PAGE)
    look = _found(source.look(after, 0), source)
    key = source, after, limit, look.last_seq, to_text(look.state), takes_gzip(request)
    if not look.ended:
        response = _page_answer(source, after, limit, key)
        add_never_cache_headers(response)
        return response
    etag = quote_etag(hashlib.sha256(repr(key).encode()).hexdigest())
    unchanged: HttpResponse | None = get_conditional_response(request, etag=etag)
    response = unchanged or _page_answer(source, after, limit, key)
    response["ETag"], response["Cache-Control"] = etag, "private, no-cache"
    return response


def _page_answer(source: Source, after: int, limit: int, key: PageKey) -> HttpResponse:
    """The page's text, compressed once for all who take that: a viewer of a long run gets megabytes."""
    return answer_of(_page(source, after, limit, key), "application/json")


def _page(source: Source, after: int, limit: int, key: PageKey) -> bytes:
    """The page's text, compressed if the last part of `key` says so and it is large; `key` changes with its events."""
    page = _pages.get(key)
    if page is None:
        look = _found(source.look(after, limit), source)
        data = ",".join(text for _, text in look.events)
        rest = to_text({**look.state, "last_seq": look.last_seq})
        page = f'{{"events":[{data}],{rest[1:]}'.encode()
        if len(page) >= LEAST_SHARED_BYTES:
            page = compressed(page) if key[-1] else page
            _pages.keep(key, page, len(page))
    return page


async def event_stream(
    request: HttpRequest, source: Source, still_allowed: Callable[[], bool] | None
) -> HttpResponse | StreamingHttpResponse:
    """The stream of events after `Last-Event-ID` (or `?after=`), while it is allowed. Raises Http404 if it has been
    deleted.
    """
    after_text = request.headers.get("Last-Event-ID") or request.GET.get("after", "0")
    after = integer_in_address("after", after_text, lowest=0, highest=LARGEST_SEQ)
    _found(await read(source.look, after, 0), source)
    if listeners.count >= MOST_STREAMS:
        sentence = f"{MOST_STREAMS} streams are open already; events.json has the same events."
        return error_answer(request, HTTPStatus.SERVICE_UNAVAILABLE, {"": [sentence]})
    return StreamingHttpResponse(
        messages(source, after, still_allowed),
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
