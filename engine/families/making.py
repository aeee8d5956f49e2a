"""Builds and prepares a family's members, several in one child. The child's side.

TensorFlow is loaded once a child. What is done here is what `formats.prepare` does with a stranger's file, there in
four children a graph: these graphs are our own.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from engine.child import ReportProgress, Results, no_progress, publish
from engine.clusters.catalogue import CATALOGUE
from engine.costs.estimated import costs_of_arrays, notes_on_estimates
from engine.events import Json
from engine.families.cache import framed
from engine.graphs.graphdef_messages import read_messages
from engine.graphs.graphdef_nodes import graph_of_messages
from engine.graphs.grouping import group_ops
from engine.graphs.origin import Origin
from engine.graphs.reading_options import ReadingOptions
from engine.prepared import PreparedGraph
from engine.zoo import definition

SUFFIX = ".pb"
AS_IT_IS = ReadingOptions()


def build_in_child(order: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """A GraphDef each; `order`: `members`, each with `name`, `model`, `settings` and `destination`. Texts: its ops."""
    ops: dict[str, Json] = {}
    members = cast(list[dict[str, Any]], order["members"])
    for index, member in enumerate(members):
        path, ops[member["name"]] = _built(member, folder)
        publish(path, Path(member["destination"]))
        path.unlink()
        report_progress(member["name"], index + 1, len(members))
    return {}, ops


def prepare_in_child(order: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """A file of the cache each; `order` as above, with `groups` and `identity` beside."""
    members = cast(list[dict[str, Any]], order["members"])
    for index, member in enumerate(members):
        path, _ = _built(member, folder)
        prepared = _prepared(path, member["groups"], folder)
        path.write_bytes(framed(prepared.to_bytes(), member["identity"]))
        publish(path, Path(member["destination"]))
        path.unlink()
        report_progress(member["name"], index + 1, len(members))
    return {}, {}


def _built(member: Mapping[str, Any], folder: Path) -> tuple[Path, int]:
    """The GraphDef as a file in `folder`, and its ops."""
    graph = definition(member["model"], member["settings"])
    path = folder / f"{member['name']}{SUFFIX}"
    path.write_bytes(graph.SerializeToString(deterministic=True))
    return path, len(graph.node)


def _prepared(path: Path, groups: int, folder: Path) -> PreparedGraph:
    """Read, cost and group the GraphDef in `path`."""
    from engine.costs.grappler import estimate_in_child  # TensorFlow

    graph = graph_of_messages(read_messages(path.read_bytes(), SUFFIX), path.stem)
    order: dict[str, Json] = {"path": str(path), "suffix": SUFFIX, "kinds": list(CATALOGUE)}
    arrays, _ = estimate_in_child(order | {"options": AS_IT_IS.to_json()}, folder, no_progress)
    costs = costs_of_arrays(arrays, tuple(CATALOGUE))
    origin = Origin(SUFFIX, AS_IT_IS.to_json(), notes=notes_on_estimates(graph))
    return PreparedGraph(graph, costs, group_ops(graph, costs, groups), origin)
