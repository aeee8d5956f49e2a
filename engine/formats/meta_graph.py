"""Reads the training step, or a chosen signature, of a MetaGraphDef (`.meta`); for a SavedModel too, finds the graph in
the file and the part of it that a step runs. Runs in a child.

The graph's bytes are cut out of the container, so that the GraphDef's reader, which counts ops and levels before it
builds anything, parses them first.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from engine.child.parent import ReportProgress
from engine.errors import GraphError, SettingsError, shortened
from engine.formats import graphdef
from engine.formats.format import PLACED_FILE, Placing, ReadFile, SourceFile
from engine.formats.graphdef import FETCHES, OPENING, OpenedGraph
from engine.formats.open_inputs import OpenInput
from engine.formats.step import needed_note
from engine.formats.text_containers import meta_graph_of_text
from engine.graphs.origin import Origin
from engine.graphs.reading_options import tags_text
from engine.graphs.tensorflow.fetching import ops_of_fetches
from engine.graphs.tensorflow.function_calls import calls_of
from engine.graphs.tensorflow.graphdef_messages import GraphMessages, noun_of_first_bytes, read_messages
from engine.graphs.tensorflow.input_texts import producer_of
from engine.graphs.tensorflow.messages import Message, parsed
from engine.graphs.tensorflow.op_table import registered_ops
from engine.graphs.tensorflow.pruning import pruned, require_fetched
from engine.graphs.tensorflow.text_messages import META_GRAPH, form_of_text
from engine.graphs.tensorflow.wire import BYTES, WireError, fields

META_GRAPHS = 2
"""number of SavedModel's field `meta_graphs`"""
FIRST_OF_SAVED_MODEL = b"\x08"
"""the tag of its schema version; no MetaGraphDef begins with it"""
GRAPH_DEF = 2
"""number of MetaGraphDef's field `graph_def`"""
META_GRAPH_FORM = "a MetaGraphDef in binary form"
SAVED_MODEL_FORM = "a SavedModel in binary form"
USUAL_TAGS = frozenset({"serve"})
USUAL_SIGNATURE = "serving_default"
OWN_SIGNATURES = "__saved_model"
"""prefix of TensorFlow's own signatures, which initialise the model"""
STEP_COLLECTIONS = ("train_op", "fetches")
"""names of collections that list a step's fetches; the first that exists counts"""
SHOWN = 16


@dataclass(frozen=True, slots=True)
class MetaGraph:
    """A MetaGraphDef: its graph, and the rest."""

    graph: bytes
    """the GraphDef"""
    rest: Message
    """MetaGraphDef without it: tags, collections, signatures"""


@dataclass(frozen=True, slots=True)
class StepSignature:
    """The feeds and fetches of a step, as names of ops; no fetches: the whole graph."""

    feeds: tuple[str, ...] = ()
    fetches: tuple[str, ...] = ()
    source: str = ""
    """the part of the file that names them, for people"""


def check(source: SourceFile, report_progress: ReportProgress) -> tuple[OpenInput, ...]:
    """Read the whole graph, not just the part that a step runs; its open inputs. Raises GraphError."""
    report_progress(OPENING, 0, 0)
    meta_graph = _meta_graph_of(source, with_tensorflow=False)
    return graphdef.check_messages(read_messages(meta_graph.graph, ".pb"), source)


def opened(source: SourceFile, report_progress: ReportProgress) -> OpenedGraph:
    """The part of the graph for the collections' fetches, or for the signature in the options.

    Raises GraphError, SettingsError.
    """
    report_progress(OPENING, 0, 0)
    meta_graph = _meta_graph_of(source)
    options = source.options
    if options.signature:
        return of_step(meta_graph, step_of_signature(meta_graph, options.signature))
    step = StepSignature() if options.fetches else step_of_collections(meta_graph)
    messages = read_messages(meta_graph.graph, ".pb")
    if step.fetches and calls_of(messages):  # only the step's functions need to be inlined
        return of_step(meta_graph, step)
    require_fetched(messages, step.fetches)
    fetches = step.fetches or ops_of_fetches(messages, options.fetches)
    origin = Origin(fetches=fetches, signatures=signatures_of(meta_graph))
    return OpenedGraph(messages, origin, is_whole=True, fetched_by=step.source or FETCHES)


def of_step(meta_graph: MetaGraph, step: StepSignature) -> OpenedGraph:
    """The part of the graph that `step` runs; all of it for a step without fetches. Raises GraphError."""
    messages = messages_of(meta_graph)
    notes: tuple[str, ...] = ()
    if step.fetches:
        before = len(messages.nodes)
        messages = pruned(messages, step.fetches)
        notes = (needed_note(before, len(messages.nodes), step.source),)
    ops = {node.name for node in messages.nodes}
    feeds = tuple(name for name in step.feeds if name in ops)
    origin = Origin(feeds=feeds, fetches=step.fetches, signatures=signatures_of(meta_graph), notes=notes)
    return OpenedGraph(messages, origin)


def messages_of(meta_graph: MetaGraph) -> GraphMessages:
    """The messages of its graph, with the definitions of custom ops. Raises GraphError."""
    messages = read_messages(meta_graph.graph, ".pb")
    listed = meta_graph.rest.meta_info_def.stripped_op_list.op
    own = {definition.name: definition for definition in listed if definition.name not in registered_ops()}
    return replace(messages, definitions=own)


def read(source: SourceFile, report_progress: ReportProgress) -> ReadFile:
    """The step's graph and its estimated costs. Raises GraphError, LimitError, SettingsError."""
    return graphdef.read_opened(opened(source, report_progress), source, report_progress)


def write(source: SourceFile, placing: Placing, folder: Path, report_progress: ReportProgress) -> None:
    """Write the step's GraphDef with its devices. Raises PlacementError, GraphError, LimitError."""
    (folder / PLACED_FILE).write_bytes(graphdef.placed(read(source, report_progress), source.suffix, placing))


def _meta_graph_of(source: SourceFile, *, with_tensorflow: bool = True) -> MetaGraph:
    """The MetaGraphDef in the file. Raises GraphError; SettingsError for tags."""
    if source.options.tags is not None:
        what = "tags choose one graph of a SavedModel, and a MetaGraphDef is one"
        raise SettingsError(what, where="tags", allowed="none", field="tags")
    content = source.path.read_bytes()
    if form_of_text(content) is META_GRAPH:
        content = meta_graph_of_text(content, with_tensorflow=with_tensorflow)
    return meta_graph_of_file(content)


def meta_graph_of_file(content: bytes) -> MetaGraph:
    """The MetaGraphDef in a binary `.meta` file. Raises GraphError."""
    if not content:
        raise GraphError("the file is empty", allowed=META_GRAPH_FORM, field="file")
    if (noun := noun_of_first_bytes(content, ".meta")) is not None:
        raise GraphError(f"this is {noun}", allowed=META_GRAPH_FORM, field="file")
    if content.startswith(FIRST_OF_SAVED_MODEL) and (noun := _noun_of_other(content)) is not None:
        raise GraphError(f"this is {noun}", allowed=META_GRAPH_FORM, field="file")
    meta_graph = _meta_graph(content, "the file is not a MetaGraphDef, or it is cut short or damaged", META_GRAPH_FORM)
    if not meta_graph.graph:
        noun = _noun_of_other(content)
        what = f"this is {noun}" if noun else "the file holds no graph"
        raise GraphError(what, allowed=META_GRAPH_FORM, field="file")
    return meta_graph


def meta_graph_of_saved_model(content: bytes, tags: tuple[str, ...] | None) -> tuple[MetaGraph, str]:
    """The graph of a saved_model.pb with these tags; without tags the one graph, or the usual one of several.

    The text is a sentence where there was a choice. Raises GraphError, SettingsError.
    """
    where = "saved_model.pb"
    if not content:
        raise GraphError("the file is empty", where=where, allowed=SAVED_MODEL_FORM, field="file")
    if (noun := noun_of_first_bytes(content, ".pb")) is not None:
        raise GraphError(f"this is {noun}", where=where, allowed=SAVED_MODEL_FORM, field="file")
    fault = "saved_model.pb is not a SavedModel, or it is cut short or damaged"
    pieces = _pieces(content, META_GRAPHS, fault, SAVED_MODEL_FORM)[0]
    graphs = [_meta_graph(piece, fault, SAVED_MODEL_FORM) for piece in pieces]
    graphs = [graph for graph in graphs if graph.graph]
    if not graphs:
        raise GraphError("it holds no graph", where=where, allowed=SAVED_MODEL_FORM, field="file")
    chosen = _tagged(graphs, tags)
    if len(graphs) == 1:
        return chosen, ""
    return chosen, (
        f"Of the file's {len(graphs)} graphs, with the tags {_all_tags(graphs)}, the one with the tags "
        f"{_tags(chosen)} was read."
    )


def _tagged(graphs: Sequence[MetaGraph], tags: tuple[str, ...] | None) -> MetaGraph:
    """The graph with these tags; without, the only one or the one that is usual. Raises GraphError, SettingsError."""
    if tags is None and len(graphs) == 1:
        return graphs[0]
    wanted = USUAL_TAGS if tags is None else frozenset(tags)
    found = [graph for graph in graphs if frozenset(graph.rest.meta_info_def.tags) == wanted]
    if len(found) == 1:
        return found[0]
    if found:
        what = f"{len(found)} of its graphs have the tags {_tags(found[0])}"
        raise GraphError(what, where="saved_model.pb", allowed="one graph for each set of tags", field="file")
    if tags is None:
        what = f"it holds {len(graphs)} graphs, with the tags {_all_tags(graphs)}"
        allowed = "the tags of one of them (--tags, the field Tags)"
        raise SettingsError(what, where="saved_model.pb", allowed=allowed, field="tags")
    what = f"there is no graph with the tags {shortened(tags_text(tags))}"
    raise SettingsError(what, where="tags", allowed=_all_tags(graphs), field="tags")


def _all_tags(graphs: Sequence[MetaGraph]) -> str:
    """The tags of each graph, as a person writes them."""
    return "; ".join(map(_tags, graphs[:SHOWN])) + "; …" * (len(graphs) > SHOWN)


def signatures_of(meta_graph: MetaGraph) -> tuple[str, ...]:
    """The names of the model's own signatures that have outputs, sorted."""
    signatures = meta_graph.rest.signature_def
    named = (name for name in signatures if not name.startswith(OWN_SIGNATURES))
    return tuple(sorted(name for name in named if ops_of(signatures[name].outputs.values())))


def chosen_signature(meta_graph: MetaGraph, wanted: str) -> str:
    """The name of the signature: `wanted`, or if empty the only one, else the usual one. Raises SettingsError."""
    names = signatures_of(meta_graph)
    chosen = wanted or (names[0] if len(names) == 1 else USUAL_SIGNATURE)
    if chosen not in names:
        shown = ", ".join(shortened(name) for name in names[:SHOWN]) + ", …" * (len(names) > SHOWN) or "none"
        what = f"there is no signature {shortened(chosen)}"
        raise SettingsError(what, where="signature", allowed=shown, field="signature")
    return chosen


def step_of_signature(meta_graph: MetaGraph, wanted: str) -> StepSignature:
    """The feeds and fetches of the signature `wanted`, as in `chosen_signature`. Raises SettingsError."""
    chosen = chosen_signature(meta_graph, wanted)
    signature = meta_graph.rest.signature_def[chosen]
    feeds, fetches = ops_of(signature.inputs.values()), ops_of(signature.outputs.values())
    return StepSignature(tuple(sorted(set(feeds))), tuple(sorted(set(fetches))), f"signature {shortened(chosen)}")


def step_of_collections(meta_graph: MetaGraph) -> StepSignature:
    """The fetches of a step in the collections; empty where they list none."""
    for name in STEP_COLLECTIONS:
        listed = meta_graph.rest.collection_def[name].node_list.value if name in meta_graph.rest.collection_def else ()
        if listed:
            return StepSignature((), tuple(sorted({producer_of(text) for text in listed})), f"collection {name}")
    return StepSignature()


def ops_of(tensors: Iterable[Message]) -> Sequence[str]:
    """The names of the ops behind TensorInfo messages, composite ones part by part."""
    names: list[str] = []
    for tensor in tensors:
        kind = tensor.WhichOneof("encoding")
        if kind == "name":
            names.append(producer_of(tensor.name))
        elif kind == "coo_sparse":
            sparse = tensor.coo_sparse
            parts = (sparse.values_tensor_name, sparse.indices_tensor_name, sparse.dense_shape_tensor_name)
            names += map(producer_of, parts)
        elif kind == "composite_tensor":
            names += ops_of(tensor.composite_tensor.components)
    return [name for name in names if name]


def _meta_graph(content: bytes, fault: str, allowed: str) -> MetaGraph:
    graphs, rest = _pieces(content, GRAPH_DEF, fault, allowed)
    message = parsed("tensorflow.core.protobuf.meta_graph_pb2", "MetaGraphDef", rest)
    if message is None:
        noun = _noun_of_other(content)
        raise GraphError(f"this is {noun}" if noun else fault, allowed=allowed, field="file")
    return MetaGraph(b"".join(graphs), message)


def _pieces(content: bytes, number: int, fault: str, allowed: str) -> tuple[list[bytes], bytes]:
    """The payloads of the message's fields `number`, and the message without them."""
    pieces: list[bytes] = []
    rest: list[bytes] = []
    try:
        for field in fields(content):
            if field.number == number and field.wire_type == BYTES:
                pieces.append(content[field.payload : field.end])
            else:
                rest.append(content[field.start : field.end])
    except WireError as broken:
        raise GraphError(f"{fault}: {broken}", allowed=allowed, field="file") from None
    return pieces, b"".join(rest)


def _noun_of_other(content: bytes) -> str | None:
    """The noun for a file that holds another TensorFlow message; else None."""
    saved_model = parsed("tensorflow.core.protobuf.saved_model_pb2", "SavedModel", content)
    if saved_model is not None and saved_model.saved_model_schema_version and saved_model.meta_graphs:
        return "a SavedModel (saved_model.pb)"
    graph = parsed("tensorflow.core.framework.graph_pb2", "GraphDef", content)
    if graph is not None and any(node.name and node.op for node in graph.node):
        return "a GraphDef, whose suffix is .pb"
    return None


def _tags(meta_graph: MetaGraph) -> str:
    return tags_text(shortened(tag) for tag in meta_graph.rest.meta_info_def.tags)
