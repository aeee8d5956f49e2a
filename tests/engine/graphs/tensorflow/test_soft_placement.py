"""Devices that a file fixes and that cannot run the op count as not fixed, with all ops that must share them."""

from pathlib import Path

import pytest

from engine.child.parent import Limits
from engine.graphs.graph import ComputationGraph
from tests.engine.formats.graphdef_samples import (
    colocated_with,
    constant,
    node,
    type_attribute,
)
from tests.engine.formats.reading import read_graph

FLOAT, INT32, STRING, BOOL = 1, 3, 7, 10
GPU, CPU = "/device:GPU:0", "/device:CPU:0"


def read(tmp_path: Path, content: bytes) -> ComputationGraph:
    path = tmp_path / "graph.pb"
    path.write_bytes(content)
    return read_graph(path, ".pb", Limits())


def table(name: str, device: str = "", attributes: bytes = b"") -> bytes:
    types = type_attribute("key_dtype", STRING) + type_attribute("value_dtype", FLOAT)
    return node(name, "HashTableV2", device=device, attributes=types + attributes)


def found_in(name: str, *sources: str, device: str = "") -> bytes:
    types = type_attribute("Tin", STRING) + type_attribute("Tout", FLOAT)
    return node(name, "LookupTableFindV2", *sources, device=device, attributes=types)


def text(name: str, device: str = "") -> bytes:
    return node(name, "Const", device=device, attributes=type_attribute("dtype", STRING))


def recurrent(name: str, *sources: str, device: str = "") -> bytes:
    return node(name, "CudnnRNN", *sources, device=device, attributes=type_attribute("T", FLOAT))


FIXED: dict[str, tuple[bytes, tuple[str, ...], int]] = {
    "a table and what looks into it, and no other op": (
        table("table", GPU) + text("key") + constant("default", GPU) + found_in("found", "table", "key", "default"),
        ("", "", GPU, ""),
        1,
    ),
    "its lookup alone is fixed": (
        table("table") + text("key") + constant("default") + found_in("found", "table", "key", "default", device=GPU),
        ("", "", "", ""),
        1,
    ),
    "by a label": (
        text("text", GPU) + constant("beside", GPU, colocated_with("text")) + constant("other", GPU),
        ("", "", GPU),
        2,
    ),
    "by a resource edge": (
        node("variable", "VarHandleOp", device=GPU, attributes=type_attribute("dtype", INT32))
        + node("read", "ReadVariableOp", "variable", device=GPU, attributes=type_attribute("dtype", INT32)),
        ("", ""),
        2,
    ),
    "by a ref edge": (
        node("variable", "VariableV2", device=GPU, attributes=type_attribute("dtype", INT32))
        + node("value", "Const", device=GPU, attributes=type_attribute("dtype", INT32))
        + node("assign", "Assign", "variable", "value", device=GPU, attributes=type_attribute("T", INT32)),
        ("", GPU, ""),
        2,
    ),
    "the initialiser of a table": (
        table("table", GPU)
        + text("keys", GPU)
        + constant("values", GPU)
        + node(
            "init",
            "LookupTableImportV2",
            "table",
            "keys",
            "values",
            device=GPU,
            attributes=type_attribute("Tin", STRING) + type_attribute("Tout", FLOAT),
        ),
        ("", "", GPU, ""),
        3,
    ),
    "job and task stay": (
        text("text", "/job:worker/replica:0/task:1/device:GPU:2"),
        ("/job:worker/replica:0/task:1",),
        1,
    ),
    "any GPU": (text("text", "/gpu:*"), ("",), 1),
    "a CPU stays": (text("text", CPU), (CPU,), 0),
    "another type of device stays": (text("text", "/device:TPU:0"), ("/device:TPU:0",), 0),
    "an op without a kernel for CPUs": (
        b"".join(constant(f"x{index}", CPU) for index in range(4))
        + recurrent("layer", "x0", "x1", "x2", "x3", device=CPU),
        (CPU, CPU, CPU, CPU, ""),
        1,
    ),
    "an op without a kernel for CPUs on a GPU stays": (
        b"".join(constant(f"x{index}") for index in range(4)) + recurrent("layer", "x0", "x1", "x2", "x3", device=GPU),
        ("", "", "", "", GPU),
        0,
    ),
    "fed data that a Switch takes": (
        node("fed", "Placeholder", device=GPU, attributes=type_attribute("dtype", FLOAT))
        + node("choice", "Const", attributes=type_attribute("dtype", BOOL))
        + node("switch", "Switch", "fed", "choice", device=GPU, attributes=type_attribute("T", FLOAT)),
        ("", "", ""),
        2,
    ),
}
"""nodes, the devices that are left, and how many ops had another"""


@pytest.mark.parametrize("case", FIXED)
def test_a_device_without_a_kernel_counts_as_not_fixed(tmp_path: Path, case: str) -> None:
    content, devices, unfixed = FIXED[case]
    graph = read(tmp_path, content)
    assert graph.devices == devices
    assert graph.unfixed_ops == unfixed
    assert graph.moved_ops == 0
