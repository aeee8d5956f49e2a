"""Zip archives, SavedModels, MetaGraphDefs and function libraries made by hand, good and bad."""

import io
import struct
import warnings
import zipfile
from collections.abc import Sequence

from engine.graphs.tensorflow.wire import bytes_field
from tests.engine.formats.graphdef_samples import attribute, constant, identity, node, text, total

GRAPH = constant("a") + constant("b") + total("sum", "a", "b") + identity("unused", "a")
LOCAL, CENTRAL = b"PK\x03\x04", b"PK\x01\x02"
FLAGS_BEHIND = {LOCAL: 6, CENTRAL: 8}
SIZE_BEHIND = {LOCAL: 22, CENTRAL: 24}


def signature(name: str, output: str) -> bytes:
    """A signature with one output, as a field of a MetaGraphDef."""
    outputs = bytes_field(2, text(1, "y") + bytes_field(2, text(1, output)))
    return bytes_field(5, text(1, name) + bytes_field(2, outputs))


def collection(name: str, *ops: str) -> bytes:
    """A collection of names, as a field of a MetaGraphDef."""
    listed = bytes_field(1, b"".join(text(1, op) for op in ops))
    return bytes_field(4, text(1, name) + bytes_field(2, listed))


def meta_graph(graph: bytes = GRAPH, tags: Sequence[str] = ("serve",), more: bytes = b"") -> bytes:
    """A MetaGraphDef."""
    info = b"".join(text(4, tag) for tag in tags) + text(5, "2.21.0")
    return bytes_field(1, info) + bytes_field(2, graph) + more


def saved_model(*meta_graphs: bytes) -> bytes:
    """A saved_model.pb."""
    return b"\x08\x01" + b"".join(bytes_field(2, each) for each in meta_graphs)


GOOD = saved_model(meta_graph(more=signature("serving_default", "sum:0")))


def archive(*entries: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED, mode: int = 0o100644) -> bytes:
    """A zip archive of these names and contents; `mode` is that of the last one."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as target:
        for index, (name, content) in enumerate(entries):
            info = zipfile.ZipInfo(name)
            info.filename = name  # as it is, also where Python would mend it
            info.compress_type = method
            info.external_attr = (mode if index == len(entries) - 1 else 0o100644) << 16
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of a name that is there twice
                target.writestr(info, content)
    return buffer.getvalue()


def packed_bytes(content: bytes) -> int:
    """How many bytes the archive's first entry takes."""
    with zipfile.ZipFile(io.BytesIO(content)) as source:
        return source.infolist()[0].compress_size


def encrypted(content: bytes) -> bytes:
    """The archive with the mark of encryption at each entry."""
    return _patched(content, FLAGS_BEHIND, struct.pack("<H", 1))


def claiming(content: bytes, size: int) -> bytes:
    """The archive with each entry claiming `size` bytes."""
    return _patched(content, SIZE_BEHIND, struct.pack("<L", size))


def _patched(content: bytes, behind: dict[bytes, int], value: bytes) -> bytes:
    patched = bytearray(content)
    for head, offset in behind.items():
        at = patched.find(head)
        while at >= 0:
            patched[at + offset : at + offset + len(value)] = value
            at = patched.find(head, at + 4)
    return bytes(patched)


def function(name: str, *body: bytes) -> bytes:
    """A function without arguments, as a field of a function library; its nodes are those of `call`."""
    signature_of_it = bytes_field(1, text(1, name))
    return bytes_field(1, signature_of_it + b"".join(bytes_field(3, each) for each in body))


def library(*functions: bytes) -> bytes:
    """A function library, as a field of a GraphDef."""
    return bytes_field(2, b"".join(functions))


def call(name: str, called: str, op: str = "StatefulPartitionedCall", key: str = "f") -> bytes:
    """A NodeDef that calls a function."""
    return text(1, name) + text(2, op) + calling(called, key)


def calling(called: str, key: str = "f") -> bytes:
    """The attributes of such a node."""
    return attribute(key, bytes_field(10, text(1, called)))


def caller(name: str, called: str) -> bytes:
    """A node that calls a function, as a field of a GraphDef."""
    return node(name, "StatefulPartitionedCall", attributes=calling(called))
