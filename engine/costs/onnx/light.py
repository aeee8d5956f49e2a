"""Operations of ops without matrix products: a few for each element of one tensor; and the bytes that ops move."""

from collections.abc import Sequence
from math import log2, prod

from engine.costs.onnx.execution import OnnxCount, OnnxExecution, OnnxTraffic, require
from engine.costs.operations.execution import size

NORM, FIXED_NORM, SOFTMAX = 8, 2, 5
LINEAR_RESIZE, CUBIC_RESIZE = 9, 40


def of_output(operations: int = 1) -> OnnxCount:
    """Count of `operations` for each element of the first output."""
    return lambda execution: operations * size(execution.output())


def of_input(operations: int = 1, position: int = 0) -> OnnxCount:
    """Count of `operations` for each element of an input."""
    return lambda execution: operations * size(execution.input(position))


def nothing(_: OnnxExecution) -> int:
    """No arithmetic: tensors are passed on, moved or held."""
    return 0


def summed(execution: OnnxExecution) -> int:
    """Sum, Mean, Max and Min of any number of tensors."""
    return len(execution.inputs) * size(execution.output())


def pooled(execution: OnnxExecution) -> int:
    """An operation for each element of each window."""
    window = execution.numbers("kernel_shape")
    require(bool(window) and all(length > 0 for length in window))
    return size(execution.output()) * prod(window)


def normalized(execution: OnnxExecution) -> int:
    """A batch normalization, in training or with known moments."""
    return (NORM if execution.number("training_mode", 0) else FIXED_NORM) * size(execution.input(0))


def local_response(execution: OnnxExecution) -> int:
    """A square and a sum over the window of channels, then a power and a product."""
    window = execution.number("size", 1)
    require(window > 0)
    return (2 * window + 3) * size(execution.input(0))


def resized(execution: OnnxExecution) -> int:
    """An interpolation of each element of the output."""
    mode = execution.text("mode", "nearest")
    each = {"nearest": 0, "linear": LINEAR_RESIZE, "bilinear": LINEAR_RESIZE, "cubic": CUBIC_RESIZE}
    return each.get(mode, LINEAR_RESIZE) * size(execution.output())


def suppressed(execution: OnnxExecution) -> int:
    """A comparison of each box with each other box, for each class in each picture, at most."""
    batch, boxes, _ = execution.input(0, rank=3)
    return batch * execution.input(1, rank=3)[1] * boxes**2


def regions(execution: OnnxExecution) -> int:
    """Interpolated samples of each element of the output; 0 samples are as many as fit, two an axis here."""
    samples = execution.number("sampling_ratio", 0) or 2
    return LINEAR_RESIZE * samples**2 * size(execution.output())


def transformed(execution: OnnxExecution) -> int:
    """A fast Fourier transform: five operations an element and level, as is usual."""
    shape = execution.output()
    require(len(shape) >= 2)
    length = max(shape[1:-1], default=1)
    return int(5 * size(shape[:-1]) * log2(max(length, 2)))


def forest(execution: OnnxExecution) -> int:
    """A comparison for each level of each tree, and a sum, for each row."""
    trees = execution.numbers("nodes_treeids")
    shape = execution.input(0)
    rows, count = (shape[0] if len(shape) > 1 else 1), len(set(trees))
    require(count > 0)
    return int(rows * count * (log2(1 + len(trees) / count) + 1))


def linear_model(execution: OnnxExecution) -> int:
    """A product with the coefficients for each row."""
    shape = execution.input(0)
    rows = shape[0] if len(shape) > 1 else 1
    key = "coefficients"
    require(key in execution.attributes)
    return 2 * rows * len(execution.attributes[key].floats)


def vector_machine(execution: OnnxExecution) -> int:
    """A product with each support vector for each row."""
    shape = execution.input(0)
    rows = shape[0] if len(shape) > 1 else 1
    require("support_vectors" in execution.attributes)
    return 3 * rows * len(execution.attributes["support_vectors"].floats)


POINTWISE = {
    1: (
        *("Abs", "Neg", "Ceil", "Floor", "Round", "Sign", "Relu", "Exp", "Log", "Sqrt", "Reciprocal", "Erf", "Tanh"),
        *("Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Not", "IsNaN"),
        *("Add", "Sub", "Mul", "Div", "Mod", "Pow", "And", "Or", "Xor", "Equal", "Less", "LessOrEqual", "Greater"),
        *("GreaterOrEqual", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "IsInf", "Where"),
        *("ThresholdedRelu", "Binarizer"),
    ),
    2: ("LeakyRelu", "PRelu", "Clip", "Shrink", "DequantizeLinear", "Scaler", "Dropout"),
    3: ("Sigmoid", "HardSigmoid", "Softsign", "Elu", "Selu", "Celu", "Softplus", "QuantizeLinear", "Normalizer"),
    4: ("Swish", "HardSwish"),
    6: ("Gelu", "Mish", "SwiGLU"),
    25: ("RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial"),
    40: ("RandomNormal", "RandomNormalLike"),
}
"""operations an element of the output → op types"""
OF_INPUT = {
    1: (
        *("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "GlobalAveragePool"),
        *("GlobalMaxPool", "ArgMax", "ArgMin", "CumSum", "CumProd", "Unique", "TopK"),
    ),
    2: ("ReduceL2", "ReduceSumSquare", "ReduceLogSum", "GlobalLpPool", "Hardmax"),
    3: ("ReduceLogSumExp", "LpNormalization", "RotaryEmbedding"),
    5: ("RMSNormalization", "DynamicQuantizeLinear"),
    SOFTMAX: ("Softmax", "LogSoftmax"),
    6: ("MeanVarianceNormalization", "SoftmaxCrossEntropyLoss"),
    NORM: ("LayerNormalization", "InstanceNormalization", "GroupNormalization"),
}
"""operations an element of the first input → op types"""
VIEWS = frozenset({"Identity", "Reshape", "Squeeze", "Unsqueeze", "Flatten"})
"""op types whose output is the first input in another shape"""
MOVES = (
    *VIEWS,
    *("Shape", "Size", "Gather", "GatherND", "GatherElements", "Slice", "Split", "Concat", "Transpose", "Expand"),
    *("Tile", "Pad", "Cast", "CastLike", "BitCast", "ConstantOfShape", "Range", "EyeLike", "OneHot", "Trilu"),
    *("DepthToSpace", "SpaceToDepth", "ReverseSequence", "Compress", "NonZero", "Scatter", "ScatterElements"),
    *("ScatterND", "TensorScatter", "CenterCropPad", "MaxUnpool", "Col2Im", "HannWindow", "HammingWindow"),
    *("BlackmanWindow", "MelWeightMatrix", "ArrayFeatureExtractor", "FeatureVectorizer", "Imputer", "LabelEncoder"),
    *("OneHotEncoder", "CastMap", "ZipMap", "DictVectorizer", "CategoryMapper"),
    *("SequenceConstruct", "SequenceAt", "SequenceInsert", "SequenceErase", "SequenceLength", "SequenceEmpty"),
    *("SplitToSequence", "ConcatFromSequence", "Optional", "OptionalHasElement", "OptionalGetElement"),
    *("StringNormalizer", "StringConcat", "StringSplit", "RegexFullMatch", "TfIdfVectorizer"),
    *("NegativeLogLikelihoodLoss", "If", "Loop", "Scan", "Input", "Initializer"),
)
COUNTS: dict[str, OnnxCount] = {
    **dict.fromkeys(MOVES, nothing),
    **{name: of_output(number) for number, names in POINTWISE.items() for name in names},
    **{name: of_input(number) for number, names in OF_INPUT.items() for name in names},
    **dict.fromkeys(("Sum", "Mean", "Max", "Min"), summed),
    **dict.fromkeys(("MaxPool", "AveragePool", "LpPool"), pooled),
    "BatchNormalization": normalized,
    "LRN": local_response,
    **dict.fromkeys(("Resize", "Upsample"), resized),
    **dict.fromkeys(("GridSample", "AffineGrid"), of_output(LINEAR_RESIZE)),
    **dict.fromkeys(("RoiAlign", "MaxRoiPool"), regions),
    "NonMaxSuppression": suppressed,
    **dict.fromkeys(("DFT", "STFT"), transformed),
    **dict.fromkeys(("TreeEnsembleClassifier", "TreeEnsembleRegressor", "TreeEnsemble"), forest),
    **dict.fromkeys(("LinearClassifier", "LinearRegressor"), linear_model),
    **dict.fromkeys(("SVMClassifier", "SVMRegressor"), vector_machine),
}
"""op type → its operations"""


def everything(_: OnnxExecution, inputs: Sequence[int], outputs: Sequence[int]) -> int:
    """All inputs are read and all outputs written."""
    return sum(inputs) + sum(outputs)


def no_bytes(_: OnnxExecution, _inputs: Sequence[int], _outputs: Sequence[int]) -> int:
    """No bytes: the output is a view, only a shape, or there before the step."""
    return 0


def gathered(_: OnnxExecution, inputs: Sequence[int], outputs: Sequence[int]) -> int:
    """Only the part of the first input that is output is read; the other inputs are read whole."""
    return sum(inputs[1:]) + 2 * sum(outputs)


def embedded(_: OnnxExecution, inputs: Sequence[int], outputs: Sequence[int]) -> int:
    """A row of each of two or three tables for each row of the output."""
    return sum(inputs[:2]) + (3 + (len(inputs) > 4 and inputs[4] > 0)) * sum(outputs[:1])


TRAFFIC: dict[str, OnnxTraffic] = {
    **dict.fromkeys((*VIEWS, "Shape", "Size", "If", "Loop", "Scan", "Input", "Initializer"), no_bytes),
    **dict.fromkeys(("Gather", "GatherND", "GatherElements", "Slice"), gathered),
    "EmbedLayerNormalization": embedded,
}
"""op type → the bytes that it moves, where these are not all of its inputs and outputs"""
