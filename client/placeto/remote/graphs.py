"""Graphs: from a file, a recording or a model to one that the server has read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from placeto.errors import ClientError
from placeto.recorder import record
from placeto.recording import Recording
from placeto.remote.connection import Connection, path_of
from placeto.remote.progress import ProgressLine
from placeto.remote.rows import Graph
from placeto.remote.watching import Watch

LONGEST_NAME = 80


def graph_file(graph: Any, folder: Path, recording: Mapping[str, Any]) -> Path:
    """The file of what a person gives: its path, or a recording that is written into the folder.

    Args:
        graph: A path, a recording, or a module.
        recording: Of a module: the arguments of `placeto.record` beside it.

    Raises:
        ClientError: It is none of them, or a module without inputs.
        RecordingError: The module cannot be recorded.
    """
    if not isinstance(graph, (str, Path, Recording)) and not hasattr(graph, "named_modules"):
        raise ClientError(f"a {type(graph).__name__} is no graph; allowed: a path, a Recording, a Graph, an nn.Module")
    is_module = not isinstance(graph, (str, Path, Recording))
    if is_module and recording.get("inputs") is None:
        raise ClientError("a model is recorded with inputs of one step: give inputs=")
    if not is_module and any(value is not None for value in recording.values()):
        given = next(name for name, value in recording.items() if value is not None)
        raise ClientError(f"{given} belongs to a model that is recorded; here is a graph already")
    if isinstance(graph, (str, Path)):
        return Path(graph)
    recorded = graph if isinstance(graph, Recording) else record(graph, **recording)
    name = re.sub(r"[^\w.-]+", "-", str(recorded.graph["name"]))[:LONGEST_NAME]
    path = folder / f"{name or 'step'}.json.gz"
    recorded.save(path)
    return path


def read(connection: Connection, graph: Graph, line: ProgressLine) -> Graph:
    """Waits until the server has read it, or asks what its file leaves open.

    Raises:
        ClientError: It cannot be read, or the server gives no answer.
    """
    if graph.status not in ("ready", "asking", "failed"):
        for news in Watch(connection, path_of("graphs", graph.id)):
            line.show(_stage(graph.name, news.state), now=news.has_ended)
        graph = Graph.of(connection.get(path_of("graphs", graph.id)))
    if graph.status == "failed":
        raise ClientError(f"{graph.name}: {graph.error}")
    return graph


def what_it_asks(graph: Graph) -> str:
    """What its file leaves open, and how to say it."""
    inputs = ", ".join(
        f"{each['name']} ({' × '.join('?' if length < 0 else str(length) for length in each['shape'])})"
        for each in graph.values["asked"]
    )
    lengths = graph.values["asked_lengths"]
    more = f"; lengths= has {', '.join(f'{name}: {words}' for name, words in lengths.items())}" if lengths else ""
    return f"{graph.name} leaves open: {inputs}; give batch_size= or as_it_is=True{more}"


def _stage(name: str, state: Mapping[str, Any]) -> str:
    if state.get("status") == "queued":
        return f"{name}: waits to be read"
    stage, done, total = (state.get(key) for key in ("stage", "done", "total"))
    return f"reads {name}: {stage or ''}" + (f" {done:,}/{total:,}" if total else "")
