"""The trials of a calibration by name, and the sizes that they have. Does not load TensorFlow.

All trials are parts of one graph; a step runs the ops of one of them. Times of two trials are subtracted, so that what
every step costs drops out.
"""

from dataclasses import dataclass

FEW_OPS, MANY_OPS = 200, 2200
"""lengths of the chains of ops without work"""
HOPS = 8
"""transfers of a chain that goes to and fro between two devices"""
LINK_BYTES = (4, 2**12, 2**16, 2**18, 2**20, 2**22, 2**24)
"""sizes of the tensors that go to and fro"""
SMALL_BYTES, LARGE_BYTES = 4, 2**22
"""sizes of the tensors that are sent at once"""
AT_ONCE = 9
"""transfers that are sent at once"""
OVERLAPPED_TRANSFERS = 4
"""large transfers beside a computation"""
COPIES = 6
"""of an op whose time is taken"""


def overhead(ops: int) -> str:
    """A chain of `ops` ops without work on the first device."""
    return f"overhead {ops}"


def there_and_back(size: int, *, local: bool) -> str:
    """A chain of HOPS ops on tensors of `size` bytes, each on the other device than the one before; or all on one."""
    return f"hops {size} {'local' if local else 'remote'}"


def sent_at_once(size: int, count: int, *, back: bool = False, both: bool = False) -> str:
    """`count` tensors of `size` bytes from the first to the second device, the other way, or both ways."""
    return f"sent {size} {count} {'both' if both else 'back' if back else 'forth'}"


def computing(at: str, *, alone: bool) -> str:
    """A computation on the `sender` or the `receiver`, alone or beside OVERLAPPED_TRANSFERS transfers."""
    return f"computing {at} {'alone' if alone else 'beside'}"


def op_trial(name: str, copies: int) -> str:
    """So many copies of the op of that name."""
    return f"op {name} {copies}"


TRANSFERS_ALONE = sent_at_once(LARGE_BYTES, OVERLAPPED_TRANSFERS)


@dataclass(frozen=True, slots=True)
class OpSize:
    """An op type with the shape of its first input."""

    type: str
    shape: tuple[int, ...]
    """MatMul: [rows, inner, columns], after the batch's; convolutions: [batch, height, width, channels, channels out,
    filter]"""

    @property
    def name(self) -> str:
        """The op's name in the graph of trials, without its copy's number."""
        return f"{self.type}_{'x'.join(map(str, self.shape))}"


STREAMING = ("Relu", "AddV2", "Tanh")
ELEMENTS = (2**18, 2**22)
"""of smaller tensors an op takes so little that the scatter of steps hides it"""
MIDDLE_ELEMENTS = 2**20
"""of types that have one size: caches hold a part of what such an op reads"""
ELEMENTWISE = ("Mul", "Sub", "AddN", "Sigmoid", "Square", "ReluGrad", "SigmoidGrad", "TanhGrad")
UPDATES = ("ResourceApplyGradientDescent", "ResourceApplyMomentum", "ResourceApplyRMSProp", "ResourceApplyAdam")
"""of variables by their gradients"""
CONVOLUTIONS = ("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter")
CONVOLUTION_SHAPES = ((8, 56, 56, 64, 64, 3), (8, 14, 14, 256, 256, 3), (8, 28, 28, 128, 256, 1))
DEPTHWISE = (
    "DepthwiseConv2dNative",
    "DepthwiseConv2dNativeBackpropInput",
    "DepthwiseConv2dNativeBackpropFilter",
)
POOLS = ("MaxPool", "AvgPool", "MaxPoolGrad", "AvgPoolGrad")
IMAGE = (8, 56, 56, 64)
OPS = (
    *(OpSize("MatMul", (size, size, size)) for size in (128, 256, 1024)),
    OpSize("MatMul", (32, 1024, 4096)),
    OpSize("BatchMatMulV2", (16, 64, 512, 64)),
    *(OpSize(type_, shape) for type_ in CONVOLUTIONS for shape in CONVOLUTION_SHAPES),
    *(OpSize(type_, (8, 28, 28, 64, 1, 3)) for type_ in DEPTHWISE),
    *(OpSize(type_, (elements,)) for type_ in STREAMING for elements in ELEMENTS),
    *(OpSize(type_, (MIDDLE_ELEMENTS,)) for type_ in (*ELEMENTWISE, *UPDATES)),
    OpSize("BiasAdd", IMAGE),
    OpSize("BiasAddGrad", IMAGE),
    OpSize("FusedBatchNormV3", (8, 28, 28, 128)),
    OpSize("FusedBatchNormGradV3", (8, 28, 28, 128)),
    *(OpSize(type_, IMAGE) for type_ in POOLS),
    OpSize("Mean", IMAGE),
    OpSize("Sum", IMAGE),
    OpSize("Softmax", (512, 1024)),
    OpSize("SparseSoftmaxCrossEntropyWithLogits", (512, 1024)),
    OpSize("ConcatV2", IMAGE),
    OpSize("Slice", IMAGE),
    OpSize("GatherV2", (8192, 512)),
    OpSize("Transpose", (1024, 1024)),
)
