"""The child's side of `opening.py`, without TensorFlow: the container's graph, its step, whether it calls functions."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from engine.child.parent import ReportProgress, Results
from engine.events import Json
from engine.graphs.file_suffixes import SAVED_MODEL_SUFFIX
from engine.graphs.function_calls import calls_of, require_callable
from engine.graphs.graphdef_messages import LIBRARY, GraphMessages, read_messages
from engine.graphs.graphdef_nodes import graph_of_messages
from engine.graphs.meta_graph import (
    MetaGraph,
    Step,
    meta_graph_of_file,
    meta_graph_of_saved_model,
    signatures_of,
    step_of_collections,
    step_of_signature,
)
from engine.graphs.opening import OPENED_FILE, OPENING
from engine.graphs.origin import NO_VARIABLES
from engine.graphs.pruning import pruned
from engine.graphs.saved_model_archive import VARIABLES_INDEX, opened_archive
from engine.graphs.tensorflow_messages import load_messages
from engine.graphs.wire import WireError, fields

_LIBRARY_IN_TEXT = re.compile(rb"\blibrary\s*:?\s*[{<]")
VARIABLES = frozenset({"VarHandleOp", "VariableV2", "Variable"})
NOTHING: dict[str, Json] = {
    "written": False,
    "calls": False,
    "feeds": [],
    "fetches": [],
    "signatures": [],
    "notes": [],
    "variables_stored": None,
}
"""what is said of a plain GraphDef, which is left where it is"""


def unpack_in_child(order: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """Leave the container's graph in `folder`; of a plain GraphDef only say whether it calls functions."""
    report_progress(OPENING, 0, 0)
    path, suffix = Path(cast(str, order["path"])), cast(str, order["suffix"])
    if suffix in (".pb", ".pbtxt"):
        return {}, NOTHING | {"calls": _calls_functions(path.read_bytes(), suffix)}
    meta_graph, names, notes = _meta_graph(path, suffix, cast(int, order["most_bytes"]))
    messages = read_messages(meta_graph.graph, ".pb")
    step = _step(meta_graph, suffix, cast(str, order["signature"]))
    if step.fetches:
        before = len(messages.nodes)
        messages = pruned(messages, step.fetches)
        notes.append(f"Of the file's {before} ops those {len(messages.nodes)} were read that {step.said_by} needs.")
    _write(messages, folder / OPENED_FILE)
    calls = bool(calls_of(messages))
    if calls:
        _require_inlinable(messages)
    ops = {node.name for node in messages.nodes}
    stored = _variables_stored(messages, names) if suffix == SAVED_MODEL_SUFFIX else None
    if stored is False:
        notes.append(f"{NO_VARIABLES[0].upper()}{NO_VARIABLES[1:]}.")
    return {}, {
        "written": True,
        "calls": calls,
        "feeds": [name for name in step.feeds if name in ops],
        "fetches": list(step.fetches),
        "signatures": list(signatures_of(meta_graph)),
        "notes": list(notes),
        "variables_stored": stored,
    }


def check_in_child(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Read the whole graph of a container, whichever part of it a step would run; its functions are not looked at."""
    path, suffix = Path(cast(str, order["path"])), cast(str, order["suffix"])
    meta_graph, _, _ = _meta_graph(path, suffix, cast(int, order["most_bytes"]))
    graph_of_messages(read_messages(meta_graph.graph, ".pb"), path.stem)
    return {}, {}


def _meta_graph(path: Path, suffix: str, most_bytes: int) -> tuple[MetaGraph, list[str], list[str]]:
    """The container's graph, the names of the files beside it, and a sentence if there was a choice."""
    if suffix == ".meta":
        return meta_graph_of_file(path.read_bytes()), [], []
    with opened_archive(path) as archive:
        content, names = archive.saved_model_bytes(most_bytes), archive.names
    meta_graph, note = meta_graph_of_saved_model(content)
    return meta_graph, names, [note] if note else []


def _variables_stored(messages: GraphMessages, names: Sequence[str]) -> bool:
    """Whether the files of variables are there, or not needed."""
    return VARIABLES_INDEX in names or not any(node.op in VARIABLES for node in messages.nodes)


def _step(meta_graph: MetaGraph, suffix: str, signature: str) -> Step:
    """What is run: of a SavedModel a signature; of a MetaGraphDef its training step, if nothing else is asked for."""
    if suffix == ".zip" or signature:
        return step_of_signature(meta_graph, signature)
    return step_of_collections(meta_graph)


def _calls_functions(content: bytes, suffix: str) -> bool:
    """Whether ops of a GraphDef call functions of its own. What is wrong with the file is left to its reader."""
    if not _may_have_functions(content, suffix):
        return False
    messages = read_messages(content, suffix)
    if not calls_of(messages):
        return False
    _require_inlinable(messages)
    return True


def _require_inlinable(messages: GraphMessages) -> None:
    """What is wrong with the graph is told before TensorFlow sees it, whose sentences name no op."""
    graph_of_messages(messages, "graph")
    require_callable(messages)


def _may_have_functions(content: bytes, suffix: str) -> bool:
    """Whether the file has a function library, as far as a quick look tells."""
    if suffix == ".pbtxt":
        return _LIBRARY_IN_TEXT.search(content) is not None
    try:
        return any(field.number == LIBRARY for field in fields(content))
    except WireError:
        return False


def _write(messages: GraphMessages, target: Path) -> None:
    graph = load_messages("tensorflow.core.framework.graph_pb2").GraphDef()
    graph.CopyFrom(messages.rest)
    graph.node.extend(messages.nodes)
    target.write_bytes(graph.SerializeToString(deterministic=True))
