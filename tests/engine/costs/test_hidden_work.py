"""Work in something that is not read is unknown with a reason: all op types that TensorFlow registers, and samples."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from engine.child.parent import Limits, ReportProgress, Results, run_in_child
from engine.costs.arithmetic import COUNTS
from engine.costs.operations import light
from engine.costs.tensorflow.estimable import OF_UNKNOWN_ARITHMETIC
from engine.costs.tensorflow.work_of_types import EXPANDED_CALLS, WITHOUT_COST, hidden_work, may_be_heavy
from engine.costs.unknown import SENTENCES, Unknown
from engine.events import Json
from engine.graphs.tensorflow.op_table import registered_ops
from tests.engine.costs.function_texts import named, relus, types, with_library
from tests.engine.costs.graph_texts import FLOAT, constant, op, placeholder, typed

HOLD_CODE = frozenset({"module", "mlir_module", "target_name", "call_target_name", "token"})
"""attributes that hold a program, or name one"""
SPEAKING = re.compile(
    r"Fused|_Mkl|MatMul|Matmul|Conv\d|RNN|LSTM|GRU|Einsum|Dot|Cholesky|Solve|Svd|Eig|FFT|Fft|PyFunc|TPU|Tpu|Custom|Remote"
    r"|Collective|Nccl|Sdca|CTC|Infeed|Outfeed|XlaRun|XlaCompile|XlaLaunch|Dilation|Pool"
)
"""in the names of op types that hide work, or that have much of it"""
MOVE_ALONE = re.compile(
    r"_?Mkl(Concat|Transpose|ConjugateTranspose|QuantizedConcat).*|IsTPU.*|GetTpu.*|TpuHandleToProtoKey|CudnnRNN(Canonical|Params).*"
    r"|Collective(AssignGroup|InitializeCommunicator).*|TPU(Repl|Part|Compilation|Dummy|EmbeddingAct|Ordinal|Round|CompileS).*"
    r"|(Private|Experimental)*.*ThreadPool.*|_XlaCompileMlirPlaceholderProgramKey|FractionalAvgPool.*|FractionalMaxPool.*"
    r"|SdcaFprint|SdcaShrinkL1|CustomAggregator|ThreadPool.*"
)
"""of these, the types that only move tensors or name things, or that do one operation for each element"""


def types_in_child(_order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Op type → its attributes with their types."""
    from tensorflow.python.framework import op_def_registry

    return {}, {
        op_type: {attribute.name: attribute.type for attribute in op_def_registry.get(op_type).attr}
        for op_type in registered_ops()
    }


@pytest.fixture(scope="module")
def attributes() -> Mapping[str, Mapping[str, str]]:
    _, texts = run_in_child(f"{__name__}:types_in_child", {}, Limits(), task="listing types", is_warm=True)
    return cast(dict[str, dict[str, str]], texts)


def is_accounted_for(op_type: str) -> bool:
    """Whether there is a formula or a reason."""
    formula = COUNTS.get(op_type, light.nothing) is not light.nothing or op_type in OF_UNKNOWN_ARITHMETIC
    return formula or bool(hidden_work(op_type)) or op_type in EXPANDED_CALLS


def test_a_function_among_the_attributes_is_expanded_or_unknown(attributes: Mapping[str, Mapping[str, str]]) -> None:
    with_functions = [name for name, held in attributes.items() if {"func", "list(func)"} & set(held.values())]
    assert len(with_functions) >= 80
    assert [name for name in with_functions if name not in EXPANDED_CALLS and not hidden_work(name)] == []


def test_a_program_among_the_attributes_is_unknown(attributes: Mapping[str, Mapping[str, str]]) -> None:
    with_code = [name for name, held in attributes.items() if HOLD_CODE & held.keys()]
    assert {"XlaCallModule", "XlaCustomCall", "XlaCustomCallV2", "PyFunc", "EagerPyFunc"} <= set(with_code)
    assert [name for name in with_code if not hidden_work(name)] == []


def test_a_type_whose_name_speaks_of_work_has_a_formula_or_a_reason() -> None:
    speaking = [name for name in registered_ops() if SPEAKING.search(name) and not MOVE_ALONE.fullmatch(name)]
    assert len(speaking) > 300
    assert [name for name in speaking if not is_accounted_for(name)] == []


def test_what_has_work_may_be_heavy_and_what_has_none_is_not() -> None:
    with_work = [name for name in registered_ops() if is_accounted_for(name)]
    assert [name for name in with_work if not may_be_heavy(name)] == []
    idle = ("NoOp", "Assert", "Identity", "Shape", "Placeholder", "Const", "LookupTableFindV2", "SaveV2", "Enter")
    assert not any(map(may_be_heavy, (*idle, *WITHOUT_COST)))
    assert all(
        map(may_be_heavy, ("SomebodysOwnOp", "Conv2D", "AddV2", "XlaCallModule", "MapDataset", "ResizeBilinear"))
    )


def test_each_reason_has_a_sentence() -> None:
    assert SENTENCES.keys() == set(Unknown)


def strings(*texts: str) -> str:
    """An attribute's text."""
    return f"list {{ {' '.join(f's: {chr(34)}{text}{chr(34)}' for text in texts)} }}"


SHAPES = "list { shape { dim { size: 8 } dim { size: 64 } } }"
X = placeholder("x", 8, 64)
MODULE = op(
    "module",
    "XlaCallModule",
    "x",
    version="i: 5",
    module='s: "module @m { }"',
    Sout=SHAPES,
    Tin=types(FLOAT),
    Tout=types(FLOAT),
    dim_args_spec="list { }",
    platforms=strings("CPU"),
    function_list="list { }",
)
PYTHON = op("python", "PyFunc", "x", token='s: "t"', Tin=types(FLOAT), Tout=types(FLOAT), _output_shapes=SHAPES)
CUSTOM = op(
    "custom",
    "XlaCustomCallV2",
    "x",
    call_target_name='s: "f"',
    backend_config='s: ""',
    has_side_effect="b: false",
    operand_dtypes=types(FLOAT),
    result_dtypes=types(FLOAT),
    result_shapes=SHAPES,
)
PIPELINE = (
    constant("start", 0, "DT_INT64")
    + constant("stop", 9, "DT_INT64")
    + op(
        "source",
        "RangeDataset",
        "start",
        "stop",
        "stop",
        output_types=types("DT_INT64"),
        output_shapes="list { shape { } }",
    )
    + op(
        "mapped",
        "MapDataset",
        "source",
        f=named("one"),
        Targuments="list { }",
        output_types=types(FLOAT),
        output_shapes="list { shape { } }",
    )
)
EXCHANGED = op(
    "reduced",
    "NcclAllReduce",
    "x",
    reduction='s: "sum"',
    T=typed(FLOAT),
    num_devices="i: 2",
    shared_name='s: "s"',
)
FUSED = (
    placeholder("w", 64, 32)
    + placeholder("b", 32)
    + op(
        "fused",
        "_FusedMatMul",
        "x",
        "w",
        "b",
        T=typed(FLOAT),
        num_args="i: 1",
        fused_ops=strings("BiasAdd", "Relu"),
    )
)
CHAIN = op("chain", "_UnaryOpsComposition", "x", T=typed(FLOAT), op_names=strings("Relu", "Exp", "Sqrt"))
XLA_CONDITION = (
    op("flag", "Placeholder", dtype="type: DT_BOOL", shape="shape { }")
    + relus("one", 1)
    + relus("three", 3)
    + op(
        "either",
        "XlaIf",
        "flag",
        "x",
        Tcond="type: DT_BOOL",
        then_branch=named("one"),
        else_branch=named("three"),
        Tin=types(FLOAT),
        Tout=types(FLOAT),
    )
)
SAMPLES: Mapping[str, tuple[str, str, Unknown, int]] = {
    "a module": (MODULE, "module", Unknown.MODULE, 0),
    "Python": (PYTHON, "python", Unknown.CODE, 0),
    "a custom call": (CUSTOM, "custom", Unknown.CODE, 0),
    "a pipeline": (PIPELINE + relus("one", 1), "mapped", Unknown.PIPELINE, 0),
    "an exchange": (EXCHANGED, "reduced", Unknown.EXCHANGE, 0),
    "a fused product": (FUSED, "fused", Unknown.NOT_SAID, 2 * 8 * 64 * 32),
    "a chain of elementwise ops": (CHAIN, "chain", Unknown.NOT_SAID, 3 * 8 * 64),
    "a condition of XLA": (XLA_CONDITION, "either", Unknown.NOT_SAID, 3 * 8 * 64),
}
"""nodes beside the input `x`, the op looked at, why its cost is unknown, and its operations"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    folder = tmp_path_factory.mktemp("hidden")
    jobs: dict[str, Any] = {}
    for index, (name, (text, _, _, _)) in enumerate(SAMPLES.items()):
        path = folder / f"{index}.pbtxt"
        path.write_text(with_library(X + text))
        jobs[name] = {"path": str(path)}
    arrays, texts = run_in_child(
        "tests.engine.costs.estimating:estimate_all_in_child", jobs, Limits(), task="estimating", is_warm=True
    )
    return dict(arrays), dict(texts)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_work_of_a_sample_is_counted_or_unknown_with_its_reason(
    name: str, answers: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    arrays, texts = answers
    _, op_name, why, operations = SAMPLES[name]
    row = cast(list[str], texts[name]).index(op_name)
    assert Unknown(int(arrays[f"{name}.unknown"][row])) is why
    assert int(arrays[f"{name}.flops"][row]) == operations
    assert not np.any(np.delete(arrays[f"{name}.unknown"], row))
