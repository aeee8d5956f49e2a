"""Operations of convolutions: each element of a result takes a multiply-add for each weight of its filter.

Padded elements count as real ones, as in TensorFlow's estimator. If a filter has fewer input channels than its input,
the convolution is grouped: an element of its result takes the weights of its own group alone. The gradient by the input
or by the filter takes as many operations as the convolution itself.
"""

from engine.costs.operations.execution import Count, Execution, MisfitError, Shape, require, size
from engine.graphs.tensorflow.wire import VARINT, WireError, fields, read_varint

CHANNELS_FIRST = frozenset({b"NCHW", b"NCDHW", b"NCW", b"CHANNELS_FIRST"})
CHANNELS_LAST = frozenset({b"NHWC", b"NDHWC", b"NWC", b"CHANNELS_LAST"})
XLA_OUTPUT_CHANNEL = 4
"""field of xla.ConvolutionDimensionNumbers"""
UNIFORM_OUTPUT_CHANNEL = 5
"""field of UniformQuantizedConvolutionDimensionNumbersAttr"""
QUANTIZED_CONVOLUTIONS = (
    *("", "AndRelu", "AndReluAndRequantize", "AndRequantize", "PerChannel", "WithBias", "WithBiasAndRelu"),
    *("WithBiasAndReluAndRequantize", "WithBiasAndRequantize", "WithBiasSignedSumAndReluAndRequantize"),
    *("WithBiasSumAndRelu", "WithBiasSumAndReluAndRequantize"),
)
"""ends of op types: further work in the same op after a quantised convolution"""
QUANTIZED_DEPTHWISE = ("", "WithBias", "WithBiasAndRelu", "WithBiasAndReluAndRequantize")


def channel_axis(execution: Execution, rank: int) -> int:
    """The axis of the channels, from the attribute `data_format`. Raises MisfitError."""
    data_format = execution.content("data_format")
    require(rank >= 2 and data_format in CHANNELS_FIRST | CHANNELS_LAST | {b""})
    batch_axes = execution.number("batch_dims", 1)
    require(1 <= batch_axes < rank)
    return batch_axes if data_format in CHANNELS_FIRST else rank - 1


def of_convolution(execution: Execution, image: Shape | None, weights: Shape, result: Shape) -> int:
    """The count for a filter `[..., channels of a group, channels of the result]` over `image`, None where unknown."""
    axis = channel_axis(execution, len(result))
    require(len(weights) >= 3 and len(result) >= len(weights) and result[axis] == weights[-1])
    if image is not None:
        require(len(image) == len(result))
        require(weights[-2] > 0 and image[axis] % weights[-2] == 0)
        groups = image[axis] // weights[-2]
        require(groups > 0 and weights[-1] % groups == 0)
    return 2 * size(result) * size(weights[:-1])


def of_depthwise(execution: Execution, image: Shape | None, weights: Shape, result: Shape) -> int:
    """The count for a filter `[height, width, channels, multiplier]`: each channel has separate filters."""
    axis = channel_axis(execution, len(result))
    require(len(result) == len(weights) == 4 and result[axis] == weights[2] * weights[3])
    require(image is None or (len(image) == 4 and image[axis] == weights[2]))
    return 2 * size(result) * size(weights[:2])


def convolution(position_of_filter: int = 1) -> Count:
    """Count of a convolution whose filter is input `position_of_filter`; inputs between prepare its image."""

    def count(execution: Execution) -> int:
        image = execution.inputs[0] if position_of_filter == 1 and execution.inputs else None
        return of_convolution(execution, image, execution.input(position_of_filter), execution.output())

    return count


def input_gradient(execution: Execution) -> int:
    """The gradient by the input: takes the input's sizes (or the input), the filter, the gradient of the result."""
    return of_convolution(execution, _given(execution), execution.input(1), execution.input(2))


def filter_gradient(execution: Execution) -> int:
    """The gradient by the filter: takes the input, the filter's sizes (or the filter), the gradient of the result."""
    return of_convolution(execution, execution.input(0), execution.output(), execution.input(2))


def depthwise(execution: Execution) -> int:
    """A depthwise convolution."""
    return of_depthwise(execution, execution.input(0), execution.input(1), execution.output())


def depthwise_input_gradient(execution: Execution) -> int:
    """The gradient of a depthwise convolution by the input."""
    return of_depthwise(execution, _given(execution), execution.input(1), execution.input(2))


def depthwise_filter_gradient(execution: Execution) -> int:
    """The gradient of a depthwise convolution by the filter."""
    return of_depthwise(execution, execution.input(0), execution.output(), execution.input(2))


def numbered_convolution(field: int, default: int | None) -> Count:
    """Count of a convolution whose attribute gives the axis of the result's channels in the filter."""

    def count(execution: Execution) -> int:
        weights, result = execution.input(1), execution.output()
        axis = number_in(execution.content("dimension_numbers"), field, default)
        require(len(weights) == len(result) >= 2 and 0 <= axis < len(weights) and weights[axis] in result)
        return 2 * size(result) * size(weights[:axis] + weights[axis + 1 :])

    return count


def number_in(message: bytes, number: int, default: int | None) -> int:
    """The integer in a field of a serialized message; 0 where it is left out, `default` in an empty message."""
    if not message and default is not None:
        return default
    found = 0
    try:
        for field in fields(message):
            if field.number == number and field.wire_type == VARINT:
                found, _ = read_varint(message, field.payload, field.end)
    except WireError as fault:
        raise MisfitError from fault
    return found


def _given(execution: Execution) -> Shape | None:
    """The shape of the input whose gradient the op computes."""
    return execution.outputs[0] if execution.outputs else None


COUNTS: dict[str, Count] = {
    **dict.fromkeys(("Conv", "Conv2D", "Conv3D", "RiscConv", "_FusedConv2D", "_FusedConv3D"), convolution()),
    **dict.fromkeys(("Conv2DWithBias", "PadWithConv2D", "PadWithFusedConv2D"), convolution()),
    "FusedPadConv2D": convolution(2),
    "FusedResizeAndPadConv2D": convolution(3),
    **dict.fromkeys(("Conv2DBackpropInput", "Conv2DBackpropInputV2"), input_gradient),
    **dict.fromkeys(("Conv3DBackpropInput", "Conv3DBackpropInputV2"), input_gradient),
    **dict.fromkeys(("Conv2DBackpropFilter", "Conv2DBackpropFilterV2"), filter_gradient),
    **dict.fromkeys(("Conv3DBackpropFilter", "Conv3DBackpropFilterV2"), filter_gradient),
    "Conv2DBackpropFilterWithBias": filter_gradient,
    **dict.fromkeys(("DepthwiseConv2dNative", "_FusedDepthwiseConv2dNative"), depthwise),
    "DepthwiseConv2dNativeBackpropInput": depthwise_input_gradient,
    "DepthwiseConv2dNativeBackpropFilter": depthwise_filter_gradient,
    **dict.fromkeys(("XlaConv", "XlaConvV2"), numbered_convolution(XLA_OUTPUT_CHANNEL, None)),
    **dict.fromkeys(
        ("UniformQuantizedConvolution", "UniformQuantizedConvolutionHybrid"),
        numbered_convolution(UNIFORM_OUTPUT_CHANNEL, 0),
    ),
    **{f"QuantizedConv2D{fused}": convolution() for fused in QUANTIZED_CONVOLUTIONS},
    **{f"QuantizedDepthwiseConv2D{fused}": depthwise for fused in QUANTIZED_DEPTHWISE},
    "_FusedQuantizedConv2D": convolution(),
    "_FusedQuantizedDepthwiseConv2D": depthwise,
}
