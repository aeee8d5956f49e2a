"""Django's handler for a server with many visitors: bodies on the data folder's disk, answers in a few threads.

Django's own gives each request a thread and a database connection, a stream for as long as it is open, and passes each
request from thread to thread for every middleware. Here a request waits for a thread of a small pool, which runs
middleware and view in one go; a stream then goes on without a thread.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, TypeVar

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.base import BaseHandler
from django.db import close_old_connections
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.urls import resolve

from webapp.capacity import EXPLAINING_AT_ONCE, BusyError, a_slot_to_explain
from webapp.http.body_limit import DISK_FAULTS, BodyWithoutSpaceError, Scope, Send
from webapp.http.body_pace import Receive
from webapp.http.large_answers import held
from webapp.http.once_read_body import OnceReadBody
from webapp.http.operations import operation_of
from webapp.http.user_errors import unavailable

PAGES, DATA, WAITING, HEALTH, EXPLAINING = "pages", "data", "waiting", "health", "explaining"
THREADS = {PAGES: 8, DATA: 2, WAITING: 32, HEALTH: 2, EXPLAINING: EXPLAINING_AT_ONCE}
"""kind of request → most threads. Pages and data take milliseconds of one interpreter, which more threads would only
share. `waiting` is for requests that wait for a write to the database, or for a process that checks an upload or writes
a download; where such a request also simulates, it takes `a_slot_to_explain`. `explaining` simulates, in compiled code
that leaves the interpreter to the others. Each kind has threads of its own, so that none waits behind another."""

View = TypeVar("View", bound=Callable[..., Any])

_spooling = ThreadPoolExecutor(2, thread_name_prefix="spooling")
"""what writes the pieces of large bodies: few at a time, while the server's own thread goes on with other requests"""
_threads = {kind: ThreadPoolExecutor(count, thread_name_prefix=kind) for kind, count in THREADS.items()}


def in_threads(kind: str) -> Callable[[View], View]:
    """Mark a view: it runs in the threads of this kind instead of the pages', or those of other requests than GET."""

    def marked(view: View) -> View:
        view.threads = kind  # type: ignore[attr-defined]
        return view

    return marked


class PooledHandler(ASGIHandler):
    """Answers requests in a few threads, and spools bodies in the data folder, whose space the operator provides."""

    def __init__(self) -> None:
        BaseHandler.__init__(self)
        self.load_middleware(is_async=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request. Raises ValueError for anything but HTTP."""
        if scope["type"] != "http":
            raise ValueError(f"{scope['type']!r} connections are not served, only HTTP")
        await self.handle(scope, receive, send)

    async def run_get_response(self, request: HttpRequest) -> HttpResponseBase:
        """The answer, made in a thread."""
        kind = _kind_of(request)
        answer = self._explained if kind == EXPLAINING else self._answer
        response = await sync_to_async(answer, thread_sensitive=False, executor=_threads[kind])(request)
        response._handler_class = self.__class__  # type: ignore[attr-defined]  # for `request_finished`
        return response

    def _explained(self, request: HttpRequest) -> HttpResponseBase:
        with a_slot_to_explain():
            return self._answer(request)

    def _answer(self, request: HttpRequest) -> HttpResponseBase:
        """Middleware and view, with this thread's connection to the database."""
        close_old_connections()
        try:
            answer = self.get_response(request)
            try:
                return held(answer)
            except (BusyError, OSError) as error:
                refusal = unavailable(request, error)
                if refusal is None:
                    raise
                return refusal
        finally:
            close_old_connections()

    async def read_body(self, receive: Receive) -> IO[bytes]:
        """The whole body, on the disk if it is large. Raises RequestAborted, BodyWithoutSpaceError."""
        folder = Path(settings.DATA_FOLDER) / "incoming"
        with ExitStack() as stack:
            try:
                folder.mkdir(mode=0o700, exist_ok=True)
                body = stack.enter_context(OnceReadBody(settings.FILE_UPLOAD_MAX_MEMORY_SIZE, dir=str(folder)))
                await _copy(receive, body)
            except OSError as error:
                if error.errno in DISK_FAULTS:
                    raise BodyWithoutSpaceError from error
                raise
            stack.pop_all()  # the request closes it
            return body


def _kind_of(request: HttpRequest) -> str:
    """Which threads answer it."""
    usual = PAGES if request.method in ("GET", "HEAD") else WAITING
    try:
        view = resolve(request.path_info).func
    except Http404:
        return usual
    return str(getattr(operation_of(view, request.method), "threads", usual))


async def _copy(receive: Receive, body: IO[bytes]) -> None:
    """Write the whole body, and return to its beginning. Raises RequestAborted, OSError."""
    loop, size, more = asyncio.get_running_loop(), 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RequestAborted
        piece = message.get("body", b"")
        size += len(piece)
        if size > settings.FILE_UPLOAD_MAX_MEMORY_SIZE:
            await loop.run_in_executor(_spooling, body.write, piece)
        else:
            body.write(piece)
        more = message.get("more_body", False)
    body.seek(0)
