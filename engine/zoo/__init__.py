"""Graphs that the engine builds itself, with TensorFlow, in a child process."""

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from engine.child import Limits, ReportProgress, Results, child_results, no_progress, publish
from engine.errors import SettingsError, shortened
from engine.events import Json

ZOO: dict[str, tuple[str, str]] = {
    "inception_v3": ("Inception-V3, batch 64, a full training step", "engine.zoo.inception_v3:build"),
    "tiny_cnn": ("A tiny convolutional network, a full training step", "engine.zoo.tiny_cnn:build"),
}
"""name → (label, dotted path of the builder)"""

BUILD_LIMITS = Limits(memory_bytes=12 * 1024**3, seconds=600.0)
"""our own builders: no untrusted input, so that these only catch our own mistakes"""
BUILT_FILE = "graph.pb"


def build_graph(
    name: str,
    destination: Path,
    report_progress: ReportProgress = no_progress,
    settings: Mapping[str, Json] | None = None,
    limits: Limits = BUILD_LIMITS,
) -> int:
    """Build the zoo's graph `name` into `destination` as a binary GraphDef; returns its number of ops.

    `settings` are the builder's keyword arguments (`batch`). Raises SettingsError for an unknown name.
    """
    if name not in ZOO:
        raise SettingsError(f"no graph {shortened(name)}", where="name", allowed=", ".join(ZOO), field="name")
    label, path = ZOO[name]
    order: dict[str, Json] = {"path": path, "settings": dict(settings or {})}
    with child_results(
        f"{__name__}:build_in_child", order, limits, task=f"building {label}", report_progress=report_progress
    ) as ((_, texts), folder):
        publish(folder / BUILT_FILE, destination)
    return cast(int, texts["ops"])


def build_in_child(order: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """Load TensorFlow, call the builder, leave the graph in `folder`."""
    report_progress("loading TensorFlow", 0, 3)
    module, _, function = cast(str, order["path"]).partition(":")
    builder = getattr(importlib.import_module(module), function)
    report_progress("building the graph", 1, 3)
    graph = builder(**cast(dict[str, Json], order["settings"]))
    report_progress("writing the graph", 2, 3)
    (folder / BUILT_FILE).write_bytes(graph.SerializeToString(deterministic=True))
    report_progress("writing the graph", 3, 3)
    return {}, {"ops": len(graph.node)}
