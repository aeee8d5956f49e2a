"""Lists the ops that may be run: those that work on numbers in memory and reach nothing else. Runs in the child.

The rules use TensorFlow's registered definition of an op type. Allowed are

- stateless types without inputs and outputs of text (such as a file's name), whose text attributes are all known to be
  harmless (others may hold addresses, paths of files, or names of Python functions), without functions as attributes;
- the stateful types below: variables, random numbers, stacks, tensor arrays, calls of functions in the graph's own
  library, whose bodies are checked too.
"""

from collections.abc import Iterable, Mapping
from functools import cache

from tensorflow.core.framework import op_def_pb2, types_pb2
from tensorflow.python.client import pywrap_tf_session

from engine.errors import GraphError, shortened
from engine.graphs.tensorflow.graphdef_messages import GraphMessages
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_types import RUN_FUNCTIONS

HARMLESS_TEXTS = frozenset(
    {
        *("padding", "data_format", "src_format", "dst_format", "filter_format", "equation", "mode", "round_mode"),
        *("bad_indices_policy", "input_quant_mode", "output_quant_mode", "align", "method", "interpolation"),
        *("fill_mode", "kernel_type", "noise", "frame_name", "set_operation", "input_order", "var_name", "message"),
        *("rnn_mode", "input_mode", "direction", "row_partition_types", "reduction", "side"),
    }
)
"""text attributes that name a way to compute, or a place inside the step"""
TEXTS = frozenset(
    {
        *("AsString", "StringJoin", "StringFormat", "ScalarSummary", "HistogramSummary", "TensorSummary"),
        *("TensorSummaryV2", "MergeSummary"),
    }
)
"""ops that make texts from numbers and texts in memory"""
STATEFUL = RUN_FUNCTIONS | {
    *("VarHandleOp", "ReadVariableOp", "AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp"),
    *("VarIsInitializedOp", "VariableShape", "Variable", "VariableV2", "TemporaryVariable", "DisableCopyOnRead"),
    *("ResourceGather", "ResourceGatherNd", "ResourceStridedSliceAssign", "ResourceCountUpTo"),
    *("RandomUniform", "RandomUniformInt", "RandomStandardNormal", "TruncatedNormal", "RandomShuffle", "RandomCrop"),
    *("RandomGamma", "RandomPoisson", "RandomPoissonV2", "Multinomial", "ParameterizedTruncatedNormal"),
    *("StatefulStandardNormalV2", "StatefulTruncatedNormal", "StatefulUniform", "StatefulUniformInt"),
    *("StatefulUniformFullInt", "StatefulRandomBinomial", "NonDeterministicInts", "RngSkip", "RngReadAndSkip"),
    *("UniformCandidateSampler", "LogUniformCandidateSampler", "LearnedUnigramCandidateSampler"),
    *("AllCandidateSampler", "ThreadUnsafeUnigramCandidateSampler", "SampleDistortedBoundingBox"),
    *("SampleDistortedBoundingBoxV2", "StatelessRandomGetAlg"),
    *("StackV2", "StackPushV2", "StackPopV2", "StackCloseV2"),
    *("TensorArrayV3", "TensorArrayWriteV3", "TensorArrayReadV3", "TensorArrayGatherV3", "TensorArrayScatterV3"),
    *("TensorArrayConcatV3", "TensorArraySplitV3", "TensorArraySizeV3", "TensorArrayGradV3", "TensorArrayCloseV3"),
    *("TensorArrayGradWithShape", "CheckNumerics", "CheckNumericsV2", "Empty", "DeepCopy", "GuaranteeConst", "Assert"),
    *("CudnnRNN", "CudnnRNNV2", "CudnnRNNV3", "CudnnRNNBackprop", "CudnnRNNBackpropV2", "CudnnRNNBackpropV3"),
}
STATEFUL_PREFIXES = ("ResourceApply", "ResourceSparseApply", "ResourceScatter")
REFUSED_PREFIXES = ("_", "Xla", "TPU", "DTensor", "Mlir", "Nccl", "Debug")
FILES = frozenset(
    {
        *("ReadFile", "WriteFile", "MatchingFiles", "Save", "SaveSlices", "SaveV2", "Restore", "RestoreSlice"),
        *("RestoreV2", "MergeV2Checkpoints", "ShardedFilename", "ShardedFilespec", "ImmutableConst"),
    }
)
OUTSIDE = (
    (("PyFunc", "EagerPyFunc"), "calls Python"),
    (("Queue", "FIFOQueue", "PaddingFIFOQueue", "RandomShuffleQueue", "PriorityQueue"), "waits for a queue"),
    (("Iterator", "MakeIterator", "OneShotIterator", "MultiDeviceIterator"), "reads a data set"),
    (("Rpc", "Send", "Recv", "_Send", "_Recv", "Collective"), "reaches other processes"),
    (("HashTable", "LookupTable", "MutableHashTable", "InitializeTable"), "works on a table"),
)
"""(prefixes of op types, what such an op does), for the error alone"""
ALLOWED = "ops that work on numbers in memory"


def require_runnable(nodes: Iterable[Message], messages: GraphMessages) -> bool:
    """Raise GraphError for the first op of `nodes`, or of functions that they call, that may not run.

    Returns whether they call any function of the library; if so, the whole library was checked.
    """
    functions = {function.signature.name: function for function in messages.rest.library.function}
    calls = False
    for node in nodes:
        _require(node, functions, "")
        calls |= node.op in RUN_FUNCTIONS or node.op in functions
    if calls:
        for name, function in functions.items():
            for node in function.node_def:
                _require(node, functions, f" of the function {shortened(name)}")
    return calls


def _require(node: Message, functions: Mapping[str, Message], of_function: str) -> None:
    reason = reason_not_to_run(node.op, node.op in functions)
    if reason:
        where = shortened(node.name) + of_function
        raise GraphError(f"its type {shortened(node.op)} is not run: it {reason}", where=where, allowed=ALLOWED)


def reason_not_to_run(op_type: str, is_function: bool = False) -> str:
    """Why ops of this type may not run, as the end of a sentence; empty if they may."""
    if is_function:
        return ""
    definition = _definitions().get(op_type)
    if definition is None:
        return "is not known to TensorFlow"
    if (reason := _outside(op_type)) or op_type in STATEFUL | TEXTS or op_type.startswith(STATEFUL_PREFIXES):
        return reason
    if definition.is_stateful:
        return "may reach beyond the step's memory"
    return _reason_of_arguments(definition)


def _outside(op_type: str) -> str:
    """What ops of this type reach outside the step, as the end of a sentence; empty where nothing is known."""
    if op_type in FILES:
        return "touches files"
    if "Dataset" in op_type:
        return "reads a data set"
    for beginnings, reason in OUTSIDE:
        if op_type.startswith(beginnings):
            return reason
    return "is TensorFlow's own" if op_type.startswith(REFUSED_PREFIXES) else ""


def _reason_of_arguments(definition: Message) -> str:
    """Why a stateless type may not run, by its inputs, outputs and attributes; empty if it may."""
    if any(each.type == types_pb2.DT_STRING for each in (*definition.input_arg, *definition.output_arg)):
        return "works on texts"
    if any(each.type in ("string", "list(string)") and each.name not in HARMLESS_TEXTS for each in definition.attr):
        return "has a text that may name something outside"
    if any(each.type in ("func", "list(func)") for each in definition.attr):
        return "calls a function in a way that is not checked"
    return ""


@cache
def _definitions() -> dict[str, Message]:
    """Op type → OpDef, for all that TensorFlow registers."""
    ops = op_def_pb2.OpList.FromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    return {definition.name: definition for definition in ops.op}
