"""Operations of ops without matrix products: a few for each element of one tensor.

TensorFlow's estimator has its own figures for these; ours stand in where it gives none.
"""

from collections.abc import Sequence
from math import prod

from engine.costs.operations.execution import Count, Execution, require, size

SOFTMAX, SOFTMAX_LOSS = 5, 8
"""operations an element: largest, difference, exponential, sum, quotient; and the loss with its gradient"""
TRAINED_NORM, FIXED_NORM, NORM_GRADIENT = 8, 2, 11
"""mean, variance, difference, product, scale and offset; with known moments a scale and an offset; both gradients"""
LINEAR_RESIZE, CUBIC_RESIZE = 9, 40
"""three interpolations of three operations; five cubic ones of four multiply-adds"""
BELL_CURVE, UNIFORM = 40, 25
"""ten rounds of Philox give four numbers; two of them a pair on the bell curve"""


def each_of_output(operations: int = 1) -> Count:
    """Count of `operations` for each element of the first output."""
    return lambda execution: operations * size(execution.output())


def each_of_input(operations: int = 1, position: int = 0) -> Count:
    """Count of `operations` for each element of an input."""
    return lambda execution: operations * size(execution.input(position))


def nothing(_: Execution) -> int:
    """No arithmetic: tensors are passed on, moved or held."""
    return 0


def normalization(execution: Execution) -> int:
    """A batch normalization, in training or with known moments."""
    per_element = TRAINED_NORM if execution.flag("is_training", default=True) else FIXED_NORM
    return per_element * size(execution.input(0))


def pooling(position: int | None) -> Count:
    """Count of an operation for each element of each window; a window for each element of the input or output."""

    def count(execution: Execution) -> int:
        windows = execution.output() if position is None else execution.input(position)
        lengths = execution.numbers("ksize")
        require(len(lengths) == len(windows) and all(length > 0 for length in lengths))
        return size(windows) * prod(lengths)

    return count


def local_response(execution: Execution) -> int:
    """A square and a sum over the window of channels, then a power and a product."""
    radius = execution.number("depth_radius", 5)
    require(radius >= 0)
    return (2 * (2 * radius + 1) + 3) * size(execution.input(0))


def gathered_rows(execution: Execution) -> int:
    """The sum of the rows of the first input that the indices name."""
    data, indices = execution.input(0), execution.input(1, rank=1)
    require(len(data) >= 1)
    return size(indices) * size(data[1:])


def gathered_rows_gradient(execution: Execution) -> int:
    """A row of the gradient for each index, scaled and added to a row of the result."""
    gradient, indices = execution.input(0), execution.input(1, rank=1)
    require(len(gradient) >= 1)
    return 2 * size(indices) * size(gradient[1:])


def suppression(execution: Execution) -> int:
    """A comparison of each box with each other box, at most."""
    return execution.input(0, rank=2)[0] ** 2


def combined_suppression(execution: Execution) -> int:
    """A comparison of each box with each other box, for each class in each image, at most."""
    batch, boxes, classes = execution.input(1, rank=3)
    return batch * classes * boxes**2


def composition(execution: Execution) -> int:
    """A chain of elementwise ops in one: an operation of each for each element."""
    names = execution.node.attr["op_names"].list.s if "op_names" in execution.node.attr else []
    return len(names) * size(execution.input(0))


def dilation(position: int | None) -> Count:
    """Count of a sum and a comparison for each element of each window of a morphological dilation.

    A window for each element of the output, or of the input at `position`.
    """

    def count(execution: Execution) -> int:
        windows = execution.output() if position is None else execution.input(position)
        return 2 * size(windows) * size(execution.input(1, rank=3)[:2])

    return count


def _family(prefixes: Sequence[str], suffixes: Sequence[str] = ("",)) -> list[str]:
    """All op types of these prefixes and suffixes."""
    return [f"{prefix}{suffix}" for prefix in prefixes for suffix in suffixes]


ND_CHANGES = ("Add", "Sub", "Min", "Max")
CHANGES = (*ND_CHANGES, "Mul", "Div")
TENSOR_LISTS = _family(
    ("TensorList",),
    (
        *("Concat", "ConcatLists", "ConcatV2", "ElementShape", "FromTensor", "Gather", "GetItem", "Length", "PopBack"),
        *("PushBack", "PushBackBatch", "Reserve", "Resize", "Scatter", "ScatterIntoExistingList", "ScatterV2"),
        *("SetItem", "Split", "Stack"),
    ),
)
MOVES = (
    *("Gather", "GatherV2", "GatherNd", "ResourceGather", "ResourceGatherNd", "ScatterNd", "EmptyTensorList"),
    *_family(("Scatter", "ResourceScatter", "ScatterNd", "ResourceScatterNd", "TensorScatter"), ("Update",)),
    *("Identity", "IdentityN", "Snapshot", "Reshape", "Squeeze", "ExpandDims", "StopGradient", "PreventGradient"),
    *("NoOp", "Shape", "ShapeN", "Size", "Rank", "EnsureShape", "Bitcast", "Const", "ReadVariableOp", "VariableV2"),
    *("AssignVariableOp", "Assign", "Concat", "ConcatV2", "Split", "SplitV", "Slice", "StridedSlice", "Pack", "Unpack"),
    *("Transpose", "ConjugateTranspose", "Tile", "BroadcastTo", "Fill", "ZerosLike", "OnesLike", "Pad", "PadV2"),
    *("MirrorPad", "Reverse", "ReverseV2", "ReverseSequence", "Roll", "SpaceToDepth", "DepthToSpace", "SpaceToBatchND"),
    *("BatchToSpaceND", "RandomShuffle", "ResizeNearestNeighbor", "ResizeNearestNeighborGrad"),
    *("LookupTableFind", "LookupTableFindV2", "LookupTableSize", "LookupTableSizeV2"),
)
RANDOM_BELL = (
    *(
        "RandomStandardNormal",
        "TruncatedNormal",
        "ParameterizedTruncatedNormal",
        "StatelessParameterizedTruncatedNormal",
    ),
    *_family(("StatelessRandomNormal", "StatelessTruncatedNormal", "StatefulStandardNormal"), ("", "V2")),
    "StatefulTruncatedNormal",
)
RANDOM_UNIFORM = (
    *("RandomUniform", "RandomUniformInt", "RiscRandomUniform", "StatefulUniform", "StatefulUniformInt"),
    *_family(("StatelessRandomUniform", "StatelessRandomUniformInt", "StatelessRandomUniformFullInt"), ("", "V2")),
)
SPARSE_SUMS = _family(("SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"), ("", "WithNumSegments"))
SPARSE_SUM_GRADIENTS = _family(("SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"), ("Grad", "GradV2"))
SEGMENT_SUMS = (
    *_family(("SegmentSum", "SegmentProd", "SegmentMin", "SegmentMax"), ("", "V2")),
    *("SegmentMean", "UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMin", "UnsortedSegmentMax"),
)
COUNTS: dict[str, Count] = {
    **dict.fromkeys((*TENSOR_LISTS, *MOVES), nothing),
    **dict.fromkeys(("Softmax", "LogSoftmax"), each_of_input(SOFTMAX)),
    **dict.fromkeys(
        ("SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits"), each_of_input(SOFTMAX_LOSS)
    ),
    **dict.fromkeys(_family(("FusedBatchNorm",), ("", "V2", "V3")), normalization),
    **dict.fromkeys(_family(("FusedBatchNormGrad",), ("", "V2", "V3")), each_of_input(NORM_GRADIENT)),
    **dict.fromkeys(("_FusedBatchNormEx",), normalization),
    **dict.fromkeys(("_FusedBatchNormGradEx",), each_of_input(NORM_GRADIENT)),
    **dict.fromkeys(("QuantizedInstanceNorm", "_MklLayerNorm", "_MklFusedInstanceNorm"), each_of_input(TRAINED_NORM)),
    **dict.fromkeys(("MaxPool", "AvgPool", "MaxPool3D", "AvgPool3D", "MaxPoolWithArgmax"), pooling(None)),
    **dict.fromkeys(("QuantizedAvgPool", "QuantizedMaxPool", "RiscPool"), pooling(None)),
    **dict.fromkeys(("AvgPoolGrad", "AvgPool3DGrad"), pooling(1)),
    **dict.fromkeys(("MaxPoolGrad", "MaxPool3DGrad"), pooling(2)),
    "MaxPoolGradWithArgmax": each_of_input(position=1),
    **dict.fromkeys(("LRN", "LRNGrad"), local_response),
    **dict.fromkeys(("ResizeBilinear", "QuantizedResizeBilinear", "CropAndResize"), each_of_output(LINEAR_RESIZE)),
    **dict.fromkeys(("ResizeBilinearGrad", "CropAndResizeGradImage"), each_of_input(LINEAR_RESIZE)),
    "ResizeBicubic": each_of_output(CUBIC_RESIZE),
    "ResizeBicubicGrad": each_of_input(CUBIC_RESIZE),
    "ResizeArea": each_of_input(2),
    **dict.fromkeys(RANDOM_BELL, each_of_output(BELL_CURVE)),
    **dict.fromkeys(RANDOM_UNIFORM, each_of_output(UNIFORM)),
    **dict.fromkeys(("Cumsum", "Cumprod"), each_of_input()),
    "CumulativeLogsumexp": each_of_input(3),
    **dict.fromkeys(("InTopK", "InTopKV2", "Bincount", "DenseBincount"), each_of_input()),
    **dict.fromkeys(_family(("Unique", "UniqueWithCounts"), ("", "V2")), each_of_input()),
    **dict.fromkeys(SPARSE_SUMS, gathered_rows),
    **dict.fromkeys(SPARSE_SUM_GRADIENTS, gathered_rows_gradient),
    **dict.fromkeys(SEGMENT_SUMS, each_of_input()),
    **dict.fromkeys(_family(("Scatter", "ResourceScatter"), CHANGES), each_of_input(position=2)),
    **dict.fromkeys(
        _family(("TensorScatter", "ScatterNd", "ResourceScatterNd"), ND_CHANGES), each_of_input(position=2)
    ),
    "ScatterNdNonAliasingAdd": each_of_input(position=2),
    **dict.fromkeys(_family(("NonMaxSuppression",), ("", "V2", "V3", "V4", "V5", "WithOverlaps")), suppression),
    "CombinedNonMaxSuppression": combined_suppression,
}
ACTIVATIONS = ("Relu", "Relu6", "Elu", "LeakyRelu", "Tanh")
OPTIMIZED = {
    **dict.fromkeys((*ACTIVATIONS, *(f"{name}Grad" for name in ACTIVATIONS), "Dequantize"), each_of_input()),
    **dict.fromkeys(("Swish", "FusedMish"), each_of_input(SOFTMAX)),
    "FusedBatchNormEx": normalization,
    "QuantizeV2": each_of_input(2),
    **{op_type: COUNTS[op_type] for op_type in ("Softmax", "MaxPool", "AvgPool", "MaxPool3D", "AvgPool3D")},
    **{op_type: COUNTS[op_type] for op_type in ("MaxPoolGrad", "AvgPoolGrad", "MaxPool3DGrad", "AvgPool3DGrad")},
    **{op_type: COUNTS[op_type] for op_type in ("QuantizedAvgPool", "QuantizedMaxPool")},
    **{op_type: COUNTS[op_type] for op_type in _family(("FusedBatchNorm", "FusedBatchNormGrad"), ("", "V2", "V3"))},
}
"""light op types that TensorFlow's optimizer for Intel's library replaces by its own, of whose bytes alone the
estimator knows"""
UNCOUNTED: dict[str, Count] = {
    **{f"{prefix}{op_type}": count for prefix in ("_Mkl", "_MklNative") for op_type, count in OPTIMIZED.items()},
    "_UnaryOpsComposition": composition,
    "_QuantizedMaxPool3D": pooling(None),
    "Dilation2D": dilation(None),
    **dict.fromkeys(("Dilation2DBackpropInput", "Dilation2DBackpropFilter"), dilation(2)),
    **dict.fromkeys(("MaxPoolGradGrad", "MaxPool3DGradGrad"), pooling(2)),
    "MaxPoolGradGradWithArgmax": each_of_input(position=1),
}
"""light op types of which the estimator knows the bytes alone, so that our count is always taken"""
