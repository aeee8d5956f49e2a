"""Sessions of the engine, kept warm for pages that explain placements."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Generic, Protocol, TypeVar

from engine import api
from webapp.graphs.models import Graph
from webapp.graphs.prepared import prepared_of
from webapp.json_field import to_text

MOST_OPS = 200_000
"""of a graph that can be explained: a larger one would take seconds and hundreds of MB for each look"""
MOST_OPS_KEPT = 400_000
"""of all sessions that are kept warm; a session needs some 500 bytes an op"""


class OfOps(Protocol):
    """What is made of a graph, and as large as that."""

    @property
    def op_count(self) -> int: ...


Made = TypeVar("Made", bound=OfOps)


class WarmSessions(Generic[Made]):
    """The sessions that were used last. Threads share them; what two ask for at once is made once."""

    def __init__(self, most_ops: int) -> None:
        self._most_ops = most_ops
        self._sessions: OrderedDict[Hashable, Future[Made]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """The session of `key`, made by `make` if it is not there. What `make` raises is kept for nobody."""
        with self._lock:
            future = self._sessions.get(key)
            is_new = future is None
            if future is None:
                future = self._sessions[key] = Future()
            self._sessions.move_to_end(key)
        if is_new:
            self._make(key, future, make)
        return future.result()

    def ready(self, key: Hashable) -> Made | None:
        """The session of `key` if it is there, without waiting for it."""
        with self._lock:
            future = self._sessions.get(key)
        return future.result() if future is not None and future.done() and future.exception() is None else None

    def _make(self, key: Hashable, future: "Future[Made]", make: Callable[[], Made]) -> None:
        try:
            future.set_result(make())
        except BaseException as error:
            with self._lock:
                self._sessions.pop(key, None)
            future.set_exception(error)
            return
        with self._lock:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        """Drop the sessions that were used longest ago while all together are too large; one always stays."""
        ready = [(key, future) for key, future in self._sessions.items() if future.done()]
        ops = sum(future.result().op_count for _, future in ready)
        for key, future in ready[:-1]:
            if ops <= self._most_ops:
                return
            ops -= future.result().op_count
            del self._sessions[key]


_warm: WarmSessions[api.Session] = WarmSessions(MOST_OPS_KEPT)
_blocks: WarmSessions[api.BlockView] = WarmSessions(MOST_OPS_KEPT)


class OnACluster(Protocol):
    """A row of a graph on a cluster, such as a run."""

    @property
    def graph(self) -> Graph: ...
    @property
    def cluster(self) -> api.Json: ...
    @property
    def cluster_value(self) -> api.Cluster: ...
    @property
    def drop_devices(self) -> bool: ...
    @property
    def rules(self) -> api.Constraints: ...


def session_of(row: OnACluster) -> api.Session:
    """The session of the row's graph on its cluster. Raises LimitError for a graph that is too large."""
    require_explainable(row.graph.op_count or 0)

    def make() -> api.Session:
        prepared, cluster = prepared_of(row.graph), row.cluster_value
        return api.Session(prepared, cluster, drop_devices=row.drop_devices, constraints=row.rules)

    return _warm.get(_key_of(row), make)


def prepared_and_cluster_of(row: OnACluster) -> tuple[api.PreparedGraph, api.Cluster]:
    """The row's graph and cluster, of any size: those of its session, if that is warm."""
    session = _warm.ready(_key_of(row))
    return (prepared_of(row.graph), row.cluster_value) if session is None else (session.prepared, session.cluster)


def blocks_of(graph: Graph) -> api.BlockView:
    """The blocks of a graph, of which one is opened after the other. Raises LimitError for one that is too large."""
    require_explainable(graph.op_count or 0)
    return _blocks.get((graph.id, graph.finished_at), lambda: api.BlockView(prepared_of(graph)))


def _key_of(row: OnACluster) -> Hashable:
    return row.graph.id, row.graph.finished_at, to_text(row.cluster), row.drop_devices, row.rules


def require_explainable(ops: int) -> None:
    """Raise LimitError for a graph with too many ops to explain its placements."""
    if ops > MOST_OPS:
        raise api.LimitError(
            f"this graph has {ops} ops, too many to explain its placements here", allowed=f"at most {MOST_OPS} ops"
        )
