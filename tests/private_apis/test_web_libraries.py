"""What webapp uses of Celery, kombu, uvicorn, Django, WhiteNoise and Python's own library."""

import asyncio
import io
import tempfile
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import Any
from unittest import mock

import h11
import pytest
from celery import bootsteps
from celery.concurrency import asynpool
from celery.concurrency.asynpool import AsynPool
from celery.concurrency.prefork import TaskPool
from celery.exceptions import WorkerShutdown
from celery.utils.imports import symbol_by_name
from celery.worker import state
from celery.worker.consumer import Consumer
from celery.worker.request import Request
from django.core.handlers.asgi import ASGIHandler, ASGIRequest
from django.core.handlers.base import BaseHandler
from django.core.signals import request_finished, request_started
from django.http import HttpResponse
from kombu.transport import TRANSPORT_ALIASES, resolve_transport
from kombu.transport.redis import Channel, MultiChannelPoller, Transport
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile

from webapp.jobs.intake import IntakeStep
from webapp.jobs.worker_hooks import ReaperStep


def run_apart(coroutine: Coroutine[Any, Any, object]) -> None:
    """Run it in a thread of its own: a browser that earlier tests drive keeps a loop running in this one."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, coroutine).result()


def test_celerys_pool_calls_its_timers_at_their_intervals() -> None:
    """If it fails, a worker waits five seconds between two jobs (webapp/jobs/worker_pool.py)."""
    pool, hub = mock.MagicMock(timers={"look": 0.25}, _pool=[], _fileno_to_outq={}), mock.MagicMock()
    AsynPool.register_with_event_loop(pool, hub)
    hub.call_repeatedly.assert_called_once_with(0.25, "look")
    assert list(AsynPool.timers.fget(pool)) == [pool.maintain_pool]


def test_celerys_pool_of_tasks_starts_the_pool_that_a_subclass_names() -> None:
    """If it fails, workers use Celery's pool (worker_pool.py), or hanging processes of it live on (bounded_stop.py)."""
    assert issubclass(TaskPool.Pool, AsynPool)
    pool = TaskPool(limit=1, app=mock.MagicMock(), threads=False)
    pool.Pool = mock.MagicMock()
    pool.on_start()
    assert pool._pool is pool.Pool.return_value


def test_the_pool_lists_its_processes() -> None:
    """If it fails, a worker that is stopped leaves the processes of its pool behind (webapp/jobs/bounded_stop.py)."""
    pool = mock.MagicMock(_pool=[])
    pool.get_process_queues.return_value = mock.MagicMock(), mock.MagicMock(), mock.MagicMock()
    pool.WorkerProcess.return_value.name = "Process-1"
    asynpool._pool.Pool._create_worker_process(pool, 0)  # billiard's, which it extends
    assert pool._pool == [pool.WorkerProcess.return_value]


def test_a_worker_ends_once_celerys_state_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """If it fails, a drain ends no worker (bounded_stop.py), nor a stop one without a broker (patient_consumer.py)."""
    monkeypatch.setattr(state, "should_stop", 0)
    with pytest.raises(WorkerShutdown):
        state.maybe_shutdown()


def test_celery_knows_which_process_works_on_a_message() -> None:
    """If it fails, processes that hang are not ended (webapp/jobs/working_processes.py)."""
    assert Request.worker_pid is None
    assert len(tuple(state.active_requests)) == 0


def test_the_steps_of_a_worker_that_ours_follow_exist() -> None:
    """If it fails, no worker reports itself or asks whether it may take messages (worker_hooks.py, intake.py)."""
    for step in (ReaperStep, IntakeStep):
        for name in step.requires:
            assert issubclass(symbol_by_name(name), bootsteps.Step)
    for name in ("connection_for_read", "on_connection_error_after_connected", "create_task_handler"):
        assert callable(getattr(Consumer, name))


@pytest.mark.parametrize("takes", [True, False])
def test_kombu_asks_the_channels_limit_before_it_takes_a_message(takes: bool) -> None:
    """If it fails, a worker that is drained takes new jobs (webapp/jobs/intake.py)."""
    channel = mock.MagicMock()
    channel.qos.can_consume = lambda: takes
    poller: Any = MultiChannelPoller()  # type: ignore[no-untyped-call]  # kombu is untyped
    poller._fd_to_chan[7] = (channel, "BRPOP")
    channel._in_poll = False
    poller.on_readable(7)
    assert channel.handlers["BRPOP"].called is takes


def test_kombu_reads_and_delivers_by_the_methods_that_the_careful_transport_replaces() -> None:
    """If it fails, one odd entry of a queue ends the worker (webapp/jobs/careful_transport.py)."""
    channel = mock.MagicMock(spec=Channel, sep=":", _queue_cycle=mock.MagicMock())
    channel.client = mock.MagicMock()
    channel.client.parse_response.return_value = b"gpu", b'{"body": 1}'
    channel.connection = mock.MagicMock()
    channel.connection_errors = ()
    assert Channel._brpop_read(channel)  # type: ignore[no-untyped-call]  # kombu is untyped
    channel.connection._deliver.assert_called_once_with({"body": 1}, "gpu")
    received: list[object] = []
    transport = mock.MagicMock(spec=Transport, _callbacks={"gpu": received.append})
    Transport._deliver(transport, {"body": 1}, "gpu")  # type: ignore[no-untyped-call]  # kombu is untyped
    assert received == [{"body": 1}]


def test_kombu_takes_the_transport_of_an_address_from_its_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """If it fails, workers use kombu's own transport (webapp/jobs/careful_transport.py)."""
    monkeypatch.setitem(TRANSPORT_ALIASES, "redis", f"{Transport.__module__}:{Transport.__name__}")
    assert resolve_transport("redis") is Transport


async def _silent(_scope: object, _receive: object, _send: object) -> None:
    """An ASGI application that answers nothing."""


def test_uvicorns_protocol_has_the_timer_and_the_states_that_the_bounded_one_uses() -> None:
    """If it fails, slow clients keep their connections for ever (webapp/http/connections.py)."""

    async def connect() -> None:
        protocol: Any = H11Protocol(Config(_silent), ServerState(), {})
        transport = mock.MagicMock()
        protocol.connection_made(transport)
        assert protocol.connections == {protocol}
        assert (protocol.transport, protocol.loop) == (transport, asyncio.get_running_loop())
        for stop in (protocol._unset_keepalive_if_required, lambda: protocol.data_received(b"GET / HTTP/1.1\r\n")):
            protocol.timeout_keep_alive_task = timer = protocol.loop.call_later(60, list)
            stop()
            assert timer.cancelled()
            assert protocol.timeout_keep_alive_task is None
        assert protocol.conn.their_state is h11.IDLE
        protocol.data_received(b"Host: here\r\n\r\n")
        assert protocol.conn.their_state is not h11.IDLE
        protocol.pause_writing()
        protocol.resume_writing()
        await asyncio.gather(*protocol.tasks)
        idle, transport = H11Protocol(Config(_silent), ServerState(), {}), mock.MagicMock()
        transport.is_closing.return_value = False
        idle.connection_made(transport)
        idle.timeout_keep_alive_handler()
        transport.close.assert_called_once_with()

    run_apart(connect())


def test_an_answer_of_django_closes_what_it_holds_and_says_who_handled_it() -> None:
    """If it fails, an answer's file and slot stay taken (large_answers.py), or connections stay open (handler.py)."""
    closed: list[str] = []
    answer: Any = HttpResponse()
    answer._resource_closers.append(lambda: closed.append("file"))
    answer._handler_class = ASGIHandler
    with mock.patch.object(request_finished, "send") as finished:
        answer.close()
    assert closed == ["file"]
    finished.assert_called_once_with(sender=ASGIHandler)


def test_a_request_can_be_made_of_its_head_alone() -> None:
    """If it fails, nobody sends large bodies any more, or everybody does (webapp/access/early.py)."""
    head = [(b"cookie", b"name=value"), (b"authorization", b"Bearer token")]
    scope = {"type": "http", "method": "POST", "path": "/graphs/", "headers": head, "query_string": b""}
    request = ASGIRequest(scope, BytesIO())
    assert (request.path, request.COOKIES) == ("/graphs/", {"name": "value"})
    assert request.headers["Authorization"] == "Bearer token"


def test_djangos_handler_reads_and_answers_by_the_methods_that_ours_replaces() -> None:
    """If it fails, each request has a thread and a connection of its own again (webapp/http/handler.py)."""
    called: list[str] = []

    class Watched(ASGIHandler):
        def __init__(self) -> None:
            BaseHandler.__init__(self)

        async def read_body(self, _receive: Any) -> Any:
            called.append("read_body")
            return io.BytesIO()

        async def run_get_response(self, _request: Any) -> Any:
            called.append("run_get_response")
            return HttpResponse()

    async def receive() -> Any:
        return await asyncio.get_running_loop().create_future()

    async def send(message: Any) -> None:
        called.append(message["type"])

    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": []}
    # both signals look after the connections of this process, which another test may have opened
    with mock.patch.object(request_finished, "send"), mock.patch.object(request_started, "asend", mock.AsyncMock()):
        run_apart(Watched().handle(scope, receive, send))
    assert called == ["read_body", "run_get_response", "http.response.start", "http.response.body"]


def test_whitenoise_serves_by_the_method_that_ours_replaces() -> None:
    """If it fails, small static files are sent as streams, which Django warns of (webapp/http/static_files.py)."""
    middleware = mock.MagicMock(spec=WhiteNoiseMiddleware, autorefresh=False, files={"/static/a.js": "file"})
    request = mock.MagicMock(path_info="/static/a.js")
    assert WhiteNoiseMiddleware.__call__(middleware, request) is middleware.serve.return_value
    middleware.serve.assert_called_once_with("file", request)
    file = StaticFile(__file__, [("Content-Type", "text/x-python")])
    found = file.get_response("GET", {})
    with found.file:
        assert (found.status, found.file.read()) == (200, Path(__file__).read_bytes())
    assert dict(found.headers)["Content-Type"] == "text/x-python"
    assert file.get_response("GET", {"HTTP_IF_NONE_MATCH": dict(found.headers)["ETag"]}).file is None


def test_a_spooled_file_says_whether_it_lies_on_the_disk() -> None:
    """If it fails, an upload takes its size twice on the disk (webapp/http/once_read_body.py)."""
    with tempfile.SpooledTemporaryFile[bytes](max_size=4) as file:
        found: Any = file
        assert found._rolled is False
        file.write(b"12345")
        assert found._rolled is True
