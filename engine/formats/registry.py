"""The table of formats: suffix → row. A new format is a file with its functions, and its row here."""

import importlib
from collections.abc import Callable
from typing import Any

from engine.errors import GraphError, shortened
from engine.formats.format import Format

OF_ANY_GRAPH = ("batch_size", "input_shapes", "trips", "sizes")
WITH_SIGNATURE = ("signature", *OF_ANY_GRAPH)

FORMATS = {
    ".pb": Format(
        "GraphDef",
        "engine.formats.graphdef:check",
        "engine.formats.graphdef:read",
        "engine.formats.graphdef:write",
        OF_ANY_GRAPH,
        is_tensorflow=True,
    ),
    ".pbtxt": Format(
        "GraphDef as text",
        "engine.formats.graphdef:check",
        "engine.formats.graphdef:read",
        "engine.formats.graphdef:write",
        OF_ANY_GRAPH,
        is_tensorflow=True,
    ),
    ".meta": Format(
        "MetaGraphDef",
        "engine.formats.meta_graph:check",
        "engine.formats.meta_graph:read",
        "engine.formats.meta_graph:write",
        WITH_SIGNATURE,
        is_tensorflow=True,
    ),
    ".zip": Format(
        "SavedModel",
        "engine.formats.saved_model.saved_model:check",
        "engine.formats.saved_model.saved_model:read",
        "engine.formats.saved_model.saved_model:write",
        WITH_SIGNATURE,
        is_tensorflow=True,
    ),
    ".json": Format("node-link JSON", "engine.formats.node_link.reader:check", "engine.formats.node_link.reader:read"),
}
"""suffix (at most 8 characters with the dot) → row, the usual format first"""


def format_of(suffix: str) -> Format:
    """The row of `suffix`. Raises GraphError where there is none."""
    if suffix not in FORMATS:
        raise GraphError(f"no format is named {shortened(suffix)}", allowed=", ".join(FORMATS), field="file")
    return FORMATS[suffix]


def without_suffix(name: str) -> str:
    """A graph's name without the suffix of a format, if it has one."""
    for suffix in FORMATS:
        if name.endswith(suffix):
            return name.removesuffix(suffix)
    return name


def function(path: str) -> Callable[..., Any]:
    """Import the function `module:name` of a row. Runs in a child."""
    module, _, name = path.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return found
