"""Which ops no GPU can run, and why."""

import json
from pathlib import Path

import pytest

from engine.child.parent import Limits, ReportProgress, Results, run_in_child
from engine.events import Json
from engine.graphs.tensorflow.kernel_tables import CPU_TABLE, GPU_TABLE, tables_of_installed_tensorflow
from engine.graphs.tensorflow.wire import bytes_field
from tests.engine.formats.graphdef_samples import attribute, node, type_attribute
from tests.engine.formats.reading import read_graph

FLOAT, INT32, STRING, INT64, RESOURCE = 1, 3, 7, 9, 20
KERNEL = "TensorFlow has no GPU kernel for it"


def of_types(**numbers: int) -> bytes:
    """Attributes that hold data types."""
    return b"".join(type_attribute(key, number) for key, number in numbers.items())


def types_attribute(key: str, *numbers: int) -> bytes:
    """An attribute that holds a list of data types."""
    return attribute(key, bytes_field(1, b"".join(bytes([0x30, number]) for number in numbers)))


def platforms(*names: str) -> bytes:
    """The attribute of a module that names its platforms."""
    return attribute("platforms", bytes_field(1, b"".join(bytes_field(2, name.encode()) for name in names)))


REASONS: dict[str, tuple[str, bytes, str]] = {
    "arithmetic": ("AddV2", of_types(T=FLOAT), ""),
    "arithmetic on small integers, in the host's memory": ("AddV2", of_types(T=INT32), ""),
    "shape, whose output is in the host's memory": ("Shape", of_types(T=FLOAT, out_type=INT32), ""),
    "constant": ("Const", of_types(dtype=FLOAT), ""),
    "constant text": ("Const", of_types(dtype=STRING), "it works on strings"),
    "variable": ("VarHandleOp", of_types(dtype=INT64), ""),
    "variable of small integers": ("VarHandleOp", of_types(dtype=INT32), f"{KERNEL} on int32"),
    "ref variable of small integers": ("VariableV2", of_types(dtype=INT32), f"{KERNEL} on int32"),
    "assignment": ("Assign", of_types(T=FLOAT), ""),
    "matrix product of integers": ("MatMul", of_types(T=INT64), f"{KERNEL} on int64"),
    "string": ("StringLower", b"", "it works on strings"),
    "join of strings": ("StringJoin", attribute("N", b"\x18\x02"), "it works on strings"),
    "conversion": ("AsString", of_types(T=FLOAT), "it works on strings"),
    "table": ("HashTableV2", of_types(key_dtype=INT64, value_dtype=FLOAT), "it works on a lookup table"),
    "look-up": ("LookupTableFindV2", of_types(Tin=INT64, Tout=FLOAT), "it works on a lookup table"),
    "queue": ("RandomShuffleQueueV2", types_attribute("component_types", FLOAT), "it works on a queue"),
    "queue that a GPU can hold": ("FIFOQueueV2", types_attribute("component_types", FLOAT), ""),
    "reader": ("TextLineReaderV2", b"", "it reads or writes files"),
    "dataset": ("RangeDataset", types_attribute("output_types", INT64), "it belongs to a data pipeline"),
    "iterator": ("OneShotIterator", types_attribute("output_types", INT64), "it belongs to a data pipeline"),
    "summary": ("ScalarSummary", of_types(T=FLOAT), "it writes summaries"),
    "file": ("ReadFile", b"", "it reads or writes files"),
    "checkpoint": ("SaveV2", types_attribute("dtypes", FLOAT), "it reads or writes files"),
    "Python": ("PyFunc", types_attribute("Tin", FLOAT) + types_attribute("Tout", FLOAT), "it calls Python"),
    "print": ("PrintV2", b"", "it prints"),
    "picture": ("DecodeJpeg", b"", "it decodes or encodes data"),
    "nothing for GPUs": ("RandomShuffle", of_types(T=FLOAT), KERNEL),
    "an op of another library": ("Mystery", b"", ""),
    "a module for CPUs": ("XlaCallModule", platforms("CPU"), "its module is compiled for CPU alone"),
    "a module for CPUs and GPUs": ("XlaCallModule", platforms("CPU", "CUDA"), ""),
    "a module for any platform": ("XlaCallModule", b"", ""),
    "an op for TPUs alone": ("TPUReplicatedInput", of_types(T=FLOAT), ""),
    "an attribute left out": ("AddV2", b"", ""),
    "a type that nobody knows": ("AddV2", attribute("T", b"\x30\x63"), f"{KERNEL} on type 99"),
    "types in a list": ("IdentityN", types_attribute("T", FLOAT, STRING), ""),
}
"""op type, attributes and reason; the ops have no inputs"""


@pytest.fixture(scope="module")
def reasons(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What is said of each sample; an op that takes inputs is given as many as it takes."""
    path = tmp_path_factory.mktemp("kernels") / "ops.pb"
    sources = [f"source_{index}" for index in range(9)]
    content = b"".join(node(source, "Mystery") for source in sources)
    for index, (op, attributes, _) in enumerate(REASONS.values()):
        content += node(f"op_{index}", op, *sources[: INPUTS.get(op, 0)], attributes=attributes)
    path.write_bytes(content)
    graph = read_graph(path, ".pb", Limits())
    return dict(zip(REASONS, graph.cpu_reason[len(sources) :], strict=True))


INPUTS = {
    **dict.fromkeys(("Shape", "StringLower", "AsString", "ReadFile", "DecodeJpeg", "PrintV2", "RandomShuffle"), 1),
    **dict.fromkeys(("AddV2", "MatMul", "Assign", "StringJoin", "ScalarSummary", "IdentityN"), 2),
    **dict.fromkeys(("LookupTableFindV2", "RangeDataset"), 3),
    "SaveV2": 4,
    "PyFunc": 1,
    "TPUReplicatedInput": 0,
}


@pytest.mark.parametrize("name", REASONS)
def test_what_no_gpu_can_run_has_a_reason(reasons: dict[str, str], name: str) -> None:
    assert reasons[name] == REASONS[name][2]


def write_tables_in_child(_order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """The tables of the installed TensorFlow, which may lack the kernels for GPUs."""
    return {}, {path.name: json.loads(text) for path, text in tables_of_installed_tensorflow().items()}


def test_the_tables_know_all_op_types_of_the_installed_tensorflow() -> None:
    _, texts = run_in_child(f"{__name__}:write_tables_in_child", {}, Limits(), task="listing kernels", is_warm=True)
    installed: dict[str, dict[str, list[str]]] = texts  # type: ignore[assignment]  # as the child made it
    of_gpus, of_cpus = (json.loads(path.read_text("utf-8")) for path in (GPU_TABLE, CPU_TABLE))
    assert list(installed[GPU_TABLE.name]) == list(of_gpus)
    assert {op_type for op_type, kernels in of_cpus.items() if not kernels}.isdisjoint(of_gpus)
    assert {op_type for op_type, kernels in of_cpus.items() if kernels} <= set(of_gpus)
    assert {"CudnnRNNV2", "CudnnRNNBackpropV3", "NcclAllReduce", "FFTND"} <= set(of_cpus)
