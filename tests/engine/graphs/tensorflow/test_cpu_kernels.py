"""Which ops no CPU can run, and why; the layouts are tried out in TensorFlow."""

import os
from pathlib import Path
from typing import Any

import pytest

from engine.child.parent import Limits, ReportProgress, Results, run_in_child
from engine.events import Json
from engine.graphs.tensorflow.cpu_kernels import CHANNELS_FIRST, gpu_reasons
from engine.graphs.tensorflow.wire import bytes_field
from tests.engine.formats.graphdef_samples import attribute, node, text, type_attribute
from tests.engine.formats.reading import read_graph

FLOAT, HALF, DOUBLE, COMPLEX = 1, 19, 2, 8
KERNEL = "TensorFlow has no CPU kernel for it"
NAMES = {FLOAT: "float32", DOUBLE: "float64"}


def layout(name: str) -> bytes:
    return attribute("data_format", text(2, name))


def platforms(*names: str, unchecked: str = "") -> bytes:
    """The attributes of a module that was compiled for these platforms."""
    listed = attribute("platforms", bytes_field(1, b"".join(text(2, name) for name in names)))
    return listed + (attribute("disabled_checks", bytes_field(1, text(2, unchecked))) if unchecked else b"")


SHAPES = attribute("Sout", bytes_field(1, b""))
REASONS: dict[str, tuple[str, int, bytes, str, str]] = {
    "a recurrent layer": ("CudnnRNN", 4, type_attribute("T", FLOAT), "", KERNEL),
    "its gradient": ("CudnnRNNBackpropV2", 12, type_attribute("T", HALF), "", KERNEL),
    "a sum over GPUs": ("NcclAllReduce", 1, type_attribute("T", FLOAT), "", KERNEL),
    "arithmetic": ("AddV2", 2, type_attribute("T", FLOAT), "", ""),
    "a data type": ("Rint", 1, type_attribute("T", HALF), "", f"{KERNEL} on half"),
    "the same op on another": ("Rint", 1, type_attribute("T", FLOAT), "", ""),
    "a layout": ("SpaceToDepth", 1, type_attribute("T", FLOAT) + layout("NCHW"), "", f"{KERNEL} with data_format NCHW"),
    "the usual layout": ("SpaceToDepth", 1, type_attribute("T", FLOAT) + layout("NHWC"), "", ""),
    "no layout": ("DepthToSpace", 1, type_attribute("T", FLOAT), "", ""),
    "a layout for oneDNN": ("Conv2D", 2, type_attribute("T", FLOAT) + layout("NCHW"), "", ""),
    "a layout for oneDNN, another type": (
        "Conv2D",
        2,
        type_attribute("T", DOUBLE) + layout("NCHW"),
        "",
        f"{KERNEL} with data_format NCHW",
    ),
    "a module for CUDA": (
        "XlaCallModule",
        0,
        platforms("CUDA"),
        "",
        "its module is compiled for CUDA alone",
    ),
    "a module for CPUs": ("XlaCallModule", 0, platforms("CPU"), "its module is compiled for CPU alone", ""),
    "a module for both": ("XlaCallModule", 0, platforms("CPU", "CUDA"), "", ""),
    "a module for any": ("XlaCallModule", 0, b"", "", ""),
    "a module that nobody checks": ("XlaCallModule", 0, platforms("CUDA", unchecked="platform"), "", ""),
    "a module for TPUs": (
        "XlaCallModule",
        0,
        platforms("TPU"),
        "its module is compiled for TPU alone",
        "its module is compiled for TPU alone",
    ),
    "strings, which no GPU can run": ("StringLower", 1, b"", "it works on strings", ""),
    "an op of another library": ("Mystery", 0, b"", "", ""),
}
"""op type, inputs, attributes, why no GPU can run it, why no CPU can"""


@pytest.fixture(scope="module")
def reasons(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, str]]:
    """Why no GPU and why no CPU can run each sample."""
    path = tmp_path_factory.mktemp("kernels") / "ops.pb"
    sources = [f"source_{index}" for index in range(12)]
    content = b"".join(node(source, "Mystery") for source in sources)
    for index, (op, inputs, attributes, _, _) in enumerate(REASONS.values()):
        content += node(f"op_{index}", op, *sources[:inputs], attributes=attributes)
    path.write_bytes(content)
    graph = read_graph(path, ".pb", Limits())
    found = zip(graph.cpu_reason, graph.gpu_reason, strict=True)
    return dict(zip(REASONS, list(found)[len(sources) :], strict=True))


@pytest.mark.parametrize("name", REASONS)
def test_what_no_cpu_can_run_has_a_reason(reasons: dict[str, tuple[str, str]], name: str) -> None:
    assert reasons[name] == REASONS[name][3:]


def run_channels_first_in_child(_order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Whether each op of `CHANNELS_FIRST` runs on a CPU, with channels first, beside what the table says."""
    import tensorflow as tf

    v1 = tf.compat.v1
    found: dict[str, Json] = {}
    for op_type in CHANNELS_FIRST:
        for number, name in NAMES.items():
            with tf.Graph().as_default() as graph, tf.device("/device:CPU:0"):
                out = _with_channels_first(op_type, name)
                if out is None:
                    continue
                says = gpu_reasons([out.op.node_def], [""]) == ("",)
                with v1.Session(graph=graph, config=v1.ConfigProto(allow_soft_placement=False)) as session:
                    try:
                        session.run(out)
                        runs = True
                    except tf.errors.OpError:
                        runs = False
            found[f"{op_type} of {number}"] = [says, runs]
    return {}, {"found": found, "onednn_asked_for": os.environ.get("TF_ENABLE_ONEDNN_OPTS")}


def _with_channels_first(op_type: str, type_name: str):  # type: ignore[no-untyped-def]
    """One op of a small image with channels first; None where it takes no such type, or needs its forward op."""
    import tensorflow as tf

    deep, pools = "3D" in op_type, "Pool" in op_type
    edge = [4] * (3 if deep else 2)
    image = tf.compat.v1.placeholder_with_default(tf.ones([1, 4, *edge], type_name), [1, 4, *edge])
    options: dict[str, Any] = {"data_format": "NCDHW" if deep else "NCHW"}
    made = getattr(tf.raw_ops, op_type)
    if op_type in ("SpaceToDepth", "DepthToSpace"):
        return made(input=image, block_size=2, **options)
    ones = [1] * (len(edge) + 2)
    options |= {"strides": ones, "padding": "SAME"}
    if pools and op_type in ("MaxPoolGrad", "MaxPool3DGrad") and type_name != "float64":
        return None  # oneDNN takes it beside its forward op alone
    if pools and deep and type_name == "float64" and op_type.startswith("Max"):
        return None
    if pools:
        options["ksize"] = ones
        if op_type.startswith("AvgPool"):
            first = (
                {"orig_input_shape": [1, 4, *edge], "grad": image}
                if "Grad" in op_type
                else {"input" if deep else "value": image}
            )
        elif "Grad" in op_type:
            first = {"orig_input": image, "orig_output": image, "grad": image}
        else:
            first = {"input": image}
        return made(**first, **options)
    weights = [3] * len(edge) + ([4, 1] if "Depthwise" in op_type else [4, 4])
    kernel = tf.ones(weights, type_name)
    if "BackpropInput" in op_type:
        return made(input_sizes=[1, 4, *edge], filter=kernel, out_backprop=image, **options)
    if "BackpropFilter" in op_type:
        return made(input=image, filter_sizes=weights, out_backprop=image, **options)
    return made(input=image, filter=kernel, **options)


@pytest.fixture(scope="module")
def tried_out() -> dict[str, Json]:
    """What a child found with channels first."""
    return run_in_child(f"{__name__}:run_channels_first_in_child", {}, Limits(), task="trying out", is_warm=True)[1]


def test_the_layouts_are_those_that_tensorflow_runs(tried_out: dict[str, Json]) -> None:
    found: dict[str, list[bool]] = tried_out["found"]  # type: ignore[assignment]  # as the child made it
    assert len(found) > 30
    assert [name for name, (says, runs) in found.items() if says != runs] == []


def test_onednn_is_on_also_where_the_processor_would_leave_it_off(tried_out: dict[str, Json]) -> None:
    assert tried_out["onednn_asked_for"] == "1"
