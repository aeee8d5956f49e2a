"""Reads the bytes of a GraphDef file into protobuf messages, one a node, or shows clearly why they are no GraphDef.

Runs in the child: the bytes are untrusted. Ops and levels are counted before anything is built.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from engine.errors import GraphError, shortened
from engine.graphs.tensorflow.graphdef_types import NodeTypes
from engine.graphs.tensorflow.large_text import parts_of_text
from engine.graphs.tensorflow.messages import Message, load_messages, parsed
from engine.graphs.tensorflow.text_messages import (
    GRAPH,
    MOST_LEVELS,
    MOST_OPS,
    TextForm,
    form_of_text,
    message_of_text,
    text_of,
)
from engine.graphs.tensorflow.wire import BYTES, VARINT, Field, WireError, bytes_field, fields

SUFFIXES = (".pb", ".pbtxt")
LARGE_TEXT_BYTES = 2**20
"""above this size TensorFlow's own parser takes less time, its loading included"""
NODE, LIBRARY, VERSION, VERSIONS = 1, 2, 3, 4
_KNOWN_TYPES = {NODE: BYTES, LIBRARY: BYTES, VERSION: VARINT, VERSIONS: BYTES}

_FIRST_BYTES = (
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x89HDF", "an HDF5 file"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x7fELF", "a program"),
    (b"version https://git-lfs", "a Git LFS pointer: the file itself has not been fetched"),
    (b"\xff\xfe", "a text in UTF-16"),
    (b"\xfe\xff", "a text in UTF-16"),
)
_MARKUP = re.compile(rb"\s*<(!doctype|html|\?xml|head|body|svg)", re.IGNORECASE)
TEXTS_OF = {"GraphDef": (".pbtxt",), "MetaGraphDef": (".meta", ".pbtxt"), "SavedModel": (".pbtxt",)}
"""noun of a text → suffixes under which it is read"""


@dataclass(frozen=True)
class GraphMessages:
    """A GraphDef: its nodes, complete before `types` is asked, and the rest."""

    nodes: list[Message]
    """NodeDef each"""
    rest: Message
    """GraphDef without its nodes: versions and function library"""
    definitions: Mapping[str, Message] = field(default_factory=dict)
    """op type → OpDef, for types that the file defines and TensorFlow does not know"""

    @cached_property
    def types(self) -> NodeTypes:
        """The types of the nodes' inputs and outputs, found once."""
        return NodeTypes(self.nodes, self.rest.library, self.definitions)


def place_of(node: Message, index: int) -> str:
    """The place of a fault, for an error: the op's index and name."""
    return f"op {index} ({shortened(node.name)})" if node.name else f"op {index}"


def read_messages(content: bytes, suffix: str, *, with_tensorflow: bool = True) -> GraphMessages:
    """The messages of a `.pb` or `.pbtxt` GraphDef. Raises GraphError.

    `with_tensorflow`: whether TensorFlow may be loaded for a large text, which it parses ten times faster.
    """
    if not content:
        raise GraphError("the file is empty", allowed=_allowed(suffix), field="file")
    if (noun := noun_of_first_bytes(content, suffix)) is not None:
        raise GraphError(f"this is {noun}", allowed=_allowed(suffix), field="file")
    return _read_text(content, with_tensorflow=with_tensorflow) if suffix == ".pbtxt" else _read_binary(content)


def _allowed(suffix: str) -> str:
    return "a GraphDef as text" if suffix == ".pbtxt" else "a GraphDef in binary form"


def noun_of_first_bytes(content: bytes, suffix: str) -> str | None:
    """The noun for a file whose first bytes belong to another format; else None."""
    for first, noun in _FIRST_BYTES:
        if content.startswith(first):
            return noun
    if _MARKUP.match(content):
        return "a page of HTML or XML"
    if content[0] == 0x80 and content[-1:] == b".":
        return "a pickle, which is never read"
    if content[:1] in (b"{", b"["):  # no whitespace before it: a binary GraphDef begins with a line feed
        return "JSON"
    form = form_of_text(content)
    return None if form is None or suffix in TEXTS_OF[form.noun] else _noun_of_text(form)


def _noun_of_text(form: TextForm) -> str:
    """The noun for a text under a suffix that belongs to another form."""
    suffixes = " or ".join(TEXTS_OF[form.noun])
    return f"a {form.noun} as text, whose suffix is {suffixes}"


def _read_binary(content: bytes) -> GraphMessages:
    """Read a binary GraphDef: scan the fields, then parse node by node. Raises GraphError."""
    try:
        found = _scan(content)
        nodes = [_parse_node(content, field, index) for index, field in enumerate(found[NODE])]
        rest = _parse_rest(content, found)
    except GraphError:
        _require_no_other_message(content)
        raise
    except WireError as fault:
        _require_no_other_message(content)
        what = f"the file is not a GraphDef, or it is cut short or damaged: {fault}"
        raise GraphError(what, allowed=_allowed(".pb"), field="file") from None
    if not all(node.name and node.op for node in nodes):
        _require_no_other_message(content)
    return GraphMessages(nodes, rest)


def _scan(content: bytes) -> dict[int, list[Field]]:
    """The top-level fields by number. Raises WireError for a wrong type, GraphError for an empty node or too many."""
    found: dict[int, list[Field]] = {number: [] for number in _KNOWN_TYPES}
    nodes = found[NODE]
    for each in fields(content):
        if each.wire_type != _KNOWN_TYPES.get(each.number, each.wire_type):
            raise WireError(f"byte {each.start} begins no field of a graph")
        if each.number == NODE:
            if each.payload == each.end:
                raise GraphError("the op is empty", where=f"op {len(nodes)}", allowed="a name and a type", field="file")
            if len(nodes) == MOST_OPS:
                raise GraphError(f"more than {MOST_OPS} ops", allowed=f"at most {MOST_OPS} ops", field="file")
        if each.number in found:
            found[each.number].append(each)
    return found


def _parse_node(content: bytes, field: Field, index: int) -> Message:
    """Parse one NodeDef. Raises GraphError."""
    node = parsed("tensorflow.core.framework.node_def_pb2", "NodeDef", content[field.payload : field.end])
    if node is not None:
        return node
    for inner in fields(content, field.payload, field.end):
        if inner.wire_type == BYTES and inner.number <= 4:
            text = content[inner.payload : inner.end]
            try:
                text.decode("utf-8")
            except UnicodeDecodeError:
                what = f"a text is not UTF-8: {shortened(ascii(text))}"
                raise GraphError(what, where=f"op {index}", allowed="UTF-8", field="file") from None
    what = f"the op is damaged or nested deeper than {MOST_LEVELS} levels"
    raise GraphError(what, where=f"op {index}", allowed="a NodeDef", field="file")


def _parse_rest(content: bytes, found: Mapping[int, Sequence[Field]]) -> Message:
    """Parse all fields but the nodes; protobuf merges several libraries into one. Raises GraphError."""
    parts = (content[field.start : field.end] for number, fields in found.items() if number != NODE for field in fields)
    rest = parsed("tensorflow.core.framework.graph_pb2", "GraphDef", b"".join(parts))
    if rest is None:
        what = f"the function library is damaged or nested deeper than {MOST_LEVELS} levels"
        raise GraphError(what, allowed="a FunctionDefLibrary", field="file")
    return rest


def _require_no_other_message(content: bytes) -> None:
    """Raise GraphError if the file holds another TensorFlow message."""
    noun = _noun_of_message(content)
    if noun is not None:
        raise GraphError(f"this is {noun}", allowed=_allowed(".pb"), field="file")


def _noun_of_message(content: bytes) -> str | None:
    """The noun for a file that holds another TensorFlow message; else None."""
    saved_model = parsed("tensorflow.core.protobuf.saved_model_pb2", "SavedModel", content)
    if saved_model is not None and saved_model.saved_model_schema_version and saved_model.meta_graphs:
        return "a SavedModel (saved_model.pb)"
    metadata = parsed("tensorflow.core.protobuf.config_pb2", "RunMetadata", content)
    if metadata is not None and (
        any(device.device.startswith("/") for device in metadata.step_stats.dev_stats)
        or any(node.op for graph in metadata.partition_graphs for node in graph.node)
    ):
        return "RunMetadata (step stats of a run)"
    meta_graph = parsed("tensorflow.core.protobuf.meta_graph_pb2", "MetaGraphDef", content)
    if meta_graph is not None and any(node.op for node in meta_graph.graph_def.node):
        return "a MetaGraphDef (.meta)"
    return None


def _read_text(content: bytes, *, with_tensorflow: bool) -> GraphMessages:
    """Read a GraphDef in protobuf's text format. Raises GraphError."""
    text = text_of(content, GRAPH)
    is_large = with_tensorflow and len(content) > LARGE_TEXT_BYTES
    if is_large and (large := _read_large_text(text)) is not None:
        return large
    graph = message_of_text(text, GRAPH)
    rest = type(graph)(library=graph.library, versions=graph.versions)
    return GraphMessages(list(graph.node), rest)


def _read_large_text(text: str) -> GraphMessages | None:
    """Let TensorFlow parse the text; None where it cannot: the caller then finds the reason."""
    parts = parts_of_text(text)
    if parts is None:
        return None
    nodes = [parsed("tensorflow.core.framework.node_def_pb2", "NodeDef", node) for node in parts.nodes]
    numbered = [(LIBRARY, parts.library), (VERSIONS, parts.versions)]
    rest = load_messages("tensorflow.core.framework.graph_pb2").GraphDef()
    try:
        rest.MergeFromString(b"".join(bytes_field(number, part) for number, part in numbered))
    except load_messages("google.protobuf.message").DecodeError:
        return None
    return None if None in nodes else GraphMessages(nodes, rest)


def require_suffix(suffix: str, path: Path) -> None:
    """Raise GraphError unless `suffix` is one of `SUFFIXES`."""
    if suffix not in SUFFIXES:
        where = shortened(path.name)
        raise GraphError(f"no reader for {suffix!r}", where=where, allowed=", ".join(SUFFIXES), field="file")
