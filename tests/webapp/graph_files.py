"""Small graph files for uploads."""

import json

from engine.graphs.tensorflow.wire import bytes_field
from tests.engine.costs.step_stats_samples import CPU, device, run_metadata, stats
from tests.engine.formats.graphdef_samples import attribute, identity, node, total, type_attribute

FLOAT = 1
"""TensorFlow's number of float32"""


def constant(name: str) -> bytes:
    """A constant of four floats that TensorFlow takes."""
    shape = bytes_field(2, bytes_field(2, b"\x08\x04"))
    tensor = bytes_field(8, bytes([0x08, FLOAT]) + shape + bytes_field(4, bytes(16)))
    return node(name, "Const", attributes=type_attribute("dtype", FLOAT) + attribute("value", tensor))


def graphdef(*, hostile_name: str = "") -> bytes:
    """Two constants, their sum, and what is made of it."""
    nodes = [constant("a"), constant("b"), total("sum", "a", "b"), identity("left", "sum"), identity("right", "sum")]
    if hostile_name:
        nodes.append(identity(hostile_name, "sum"))
    return b"".join(nodes)


def products(trees: int, ops: int) -> bytes:
    """A GraphDef of trees of matrix products, each of larger matrices than the one before."""
    return b"".join(
        _ones(f"{tree}/op0", 256 + 64 * tree)
        + b"".join(_square(f"{tree}/op{index}", f"{tree}/op{(index - 1) // 2}") for index in range(1, ops))
        for tree in range(trees)
    )


def _ones(name: str, side: int) -> bytes:
    size = bytes_field(2, bytes([0x08, 0x80 | side & 0x7F, side >> 7]))
    one = bytes_field(5, b"\x00\x00\x80\x3f")
    tensor = bytes_field(8, bytes([0x08, FLOAT]) + bytes_field(2, size + size) + one)
    return node(name, "Const", attributes=type_attribute("dtype", FLOAT) + attribute("value", tensor))


def _square(name: str, matrix: str) -> bytes:
    return node(name, "MatMul", matrix, matrix, attributes=type_attribute("T", FLOAT))


def node_link(ops: int = 12, output_bytes: int = 1000) -> bytes:
    """A tree of ops as node-link JSON."""
    nodes = [
        {"id": f"op{index}", "type": "MatMul", "time_us": 10.0 * (index + 1), "output_bytes": [output_bytes]}
        for index in range(ops)
    ]
    edges = [{"source": f"op{(index - 1) // 2}", "target": f"op{index}", "output": 0} for index in range(1, ops)]
    graph = {"directed": True, "multigraph": False, "graph": {"name": "tree"}, "nodes": nodes, "edges": edges}
    return json.dumps(graph).encode()


def measured_times() -> bytes:
    """RunMetadata of a run of `graphdef()`."""
    return run_metadata(device(CPU, stats("sum", 7), stats("left", 2)))
