"""Turns the text of a MetaGraphDef or SavedModel into its binary form, of which the graph is then read. In a child."""

from typing import cast

from engine.graphs.tensorflow.graphdef_messages import LARGE_TEXT_BYTES
from engine.graphs.tensorflow.large_text import fields_of_text
from engine.graphs.tensorflow.text_messages import META_GRAPH, SAVED_MODEL, TextForm, message_of_text, text_of
from engine.graphs.tensorflow.wire import bytes_field

META_GRAPHS = "meta_graphs"
"""SavedModel's field of its graphs"""
NUMBER = 2
"""its number"""
SCHEMA_VERSION = b"\x08\x01"
"""SavedModel's first field"""


def meta_graph_of_text(content: bytes, *, with_tensorflow: bool) -> bytes:
    """A MetaGraphDef in binary form. `with_tensorflow`: as for `read_messages`. Raises GraphError."""
    text = text_of(content, META_GRAPH)
    if with_tensorflow and len(content) > LARGE_TEXT_BYTES:
        graphs = _graphs_of(f"{META_GRAPHS} {{\n{text}\n}}")
        if graphs is not None and len(graphs) == 1:
            return graphs[0]
    return _binary(text, META_GRAPH)


def saved_model_of_text(content: bytes, *, with_tensorflow: bool) -> bytes:
    """A SavedModel in binary form, as above. Raises GraphError."""
    text = text_of(content, SAVED_MODEL)
    if with_tensorflow and len(content) > LARGE_TEXT_BYTES and (graphs := _graphs_of(text)) is not None:
        return SCHEMA_VERSION + b"".join(bytes_field(NUMBER, graph) for graph in graphs)
    return _binary(text, SAVED_MODEL)


def _graphs_of(saved_model: str) -> list[bytes] | None:
    """The graphs in a SavedModel's text; None where TensorFlow cannot parse it."""
    decoded = fields_of_text(saved_model, "tensorflow.SavedModel", (META_GRAPHS,))
    return None if decoded is None else decoded[0]


def _binary(text: str, form: TextForm) -> bytes:
    return cast(bytes, message_of_text(text, form).SerializeToString(deterministic=True))
