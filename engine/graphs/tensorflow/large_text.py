"""Parses large GraphDefs in protobuf's text format with TensorFlow's C++ instead of Python. Runs in the child.

Python's parser takes some 40 s for 100,000 ops, this one 3 s and the 2 s that TensorFlow takes to load. It gives no
reason for a refusal: the caller then uses Python's parser, which does. The op that parses runs on the text alone;
nothing of the graph is run.
"""

import importlib
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple


class TextParts(NamedTuple):
    """A GraphDef in serialized pieces."""

    nodes: list[bytes]
    library: bytes
    versions: bytes


def parts_of_text(text: str) -> TextParts | None:
    """The pieces of a GraphDef's text; None where TensorFlow cannot be loaded, or refuses the text."""
    names = TextParts._fields
    decoded = fields_of_text(text, "tensorflow.GraphDef", ("node", *names[1:]))
    if decoded is None:
        return None
    nodes, library, versions = decoded
    return TextParts(nodes, b"".join(library), b"".join(versions))


def fields_of_text(text: str, message: str, names: Sequence[str]) -> list[list[bytes]] | None:
    """[names] the values of each of these fields, messages all, of a `message`'s text; None as for a graph's."""
    if "tensorflow" in sys.modules and not hasattr(sys.modules["tensorflow"], "raw_ops"):
        return None  # only its messages are loaded (`messages.py`), and it cannot be loaded twice
    tensorflow: Any = importlib.import_module("tensorflow")
    try:
        decoded = tensorflow.raw_ops.DecodeProtoV2(
            bytes=[text.encode()],
            message_type=message,
            field_names=list(names),
            output_types=[tensorflow.string] * len(names),
            descriptor_source="local://",
            message_format="text",
        )
    except tensorflow.errors.OpError:
        return None
    return [values.numpy()[0].tolist() for values in decoded.values]
