"""Builds and prepares a family's members, several in one child: the child's side.

A child loads TensorFlow once and prepares many graphs. `formats.prepare` does the same with one untrusted file a child;
these graphs are our own.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from engine.child.parent import ReportProgress, Results, no_progress, publish
from engine.clusters.device_kinds import COSTED_KINDS
from engine.events import Json
from engine.formats.reading import AS_IT_IS, held_by, with_findings
from engine.graphs.grouping.grouping import group_ops
from engine.graphs.origin import Origin
from engine.graphs.tensorflow.graphdef_messages import read_messages
from engine.graphs.tensorflow.graphdef_nodes import graph_of_messages
from engine.prepared import PreparedGraph
from engine.zoo import definition
from engine.zoo.families.cache import framed

SUFFIX = ".pb"
LOADING = "loading TensorFlow, once a child"


def build_in_child(order: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """Build a GraphDef file for each member; returns texts: name → number of ops.

    `order` has `members`, each with `name`, `model`, `settings` and `destination`.
    """
    ops: dict[str, Json] = {}
    members = cast(list[dict[str, Any]], order["members"])
    for index, member in enumerate(members):
        path, ops[member["name"]] = _built(member, folder)
        publish(path, Path(member["destination"]))
        path.unlink()
        report_progress(member["name"], index + 1, len(members))
    return {}, ops


def prepare_in_child(order: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """Make a cache file for each member; `order` as for `build_in_child`, each member with `groups` and `identity`."""
    members = cast(list[dict[str, Any]], order["members"])
    for index, member in enumerate(members):
        path = folder / member["name"]
        path.write_bytes(framed(prepared_bytes(member, folder), member["identity"]))
        publish(path, Path(member["destination"]))
        path.unlink()
        report_progress(member["name"], index + 1, len(members))
    return {}, {}


def prepared_bytes(member: Mapping[str, Any], folder: Path, begin: Callable[[str], None] = lambda _: None) -> bytes:
    """The prepared graph of a member, packed; calls `begin` with the name of each stage at its start."""
    begin(LOADING)
    from engine.costs.tensorflow.estimating import estimate  # TensorFlow

    begin("building the GraphDef")
    path, _ = _built(member, folder)
    begin("reading it")
    messages = read_messages(path.read_bytes(), SUFFIX)
    graph = graph_of_messages(messages, path.stem)
    begin("estimating the costs")
    path.unlink()
    estimates = estimate(messages, AS_IT_IS, COSTED_KINDS, no_progress)
    begin("grouping")
    grouping = group_ops(graph, estimates.costs, member["groups"])
    begin("packing")
    origin = with_findings(Origin(SUFFIX, AS_IT_IS.to_json()), graph, estimates, held_by(messages))
    return PreparedGraph(graph, estimates.costs, grouping, origin).to_bytes()


def _built(member: Mapping[str, Any], folder: Path) -> tuple[Path, int]:
    """Write the member's GraphDef into a file in `folder`; returns its path and its number of ops."""
    graph = definition(member["model"], member["settings"])
    path = folder / f"{member['name']}{SUFFIX}"
    path.write_bytes(graph.SerializeToString(deterministic=True))
    return path, len(graph.node)
