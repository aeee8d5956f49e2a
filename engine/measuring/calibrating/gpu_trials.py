"""What a calibration runs on a GPU, by name and size. Does not load torch.

The trials have the names of `trials.py`, with the first device a GPU and the second its host or another GPU. There are
fewer ops, and larger ones, since a launch hides what a short one takes.
"""

from dataclasses import dataclass

from engine.measuring.calibrating.trials import CONVOLUTIONS, POOLS, STREAMING, OpSize

HALF_TYPES = ("float16", "bfloat16")
"""data types with a peak of their own, beside float32"""
ELEMENTWISE = ("Mul", "Sub", "Sigmoid", "Square", "ReluGrad")


@dataclass(frozen=True, slots=True)
class GpuSizes:
    """The sizes of the ops; the usual ones take some GB of memory."""

    batch: int = 64
    """of images"""
    matrix: int = 4096
    """rows and columns of the largest matrix product"""
    computed: int = 2048
    """the same of the computation beside transfers, which should take about as long as they do"""
    elements: int = 2**26
    """of the largest tensor of an elementwise op"""

    def ops(self) -> tuple[OpSize, ...]:
        """The ops of which the efficiency is taken."""
        matrix, image = self.matrix, (self.batch, 56, 56, 64)
        convolutions = ((56, 56, 64, 64, 3), (14, 14, 256, 256, 3), (28, 28, 128, 256, 1))
        return (
            *(OpSize("MatMul", (size, size, size)) for size in (matrix // 4, matrix // 2, matrix)),
            OpSize("MatMul", (self.batch, matrix, matrix)),
            OpSize("BatchMatMulV2", (self.batch, 128, 512, 128)),
            *(OpSize(type_, (self.batch, *shape)) for type_ in CONVOLUTIONS for shape in convolutions),
            *(OpSize(type_, (elements,)) for type_ in STREAMING for elements in (self.elements // 16, self.elements)),
            *(OpSize(type_, (self.elements // 4,)) for type_ in ELEMENTWISE),
            OpSize("ResourceApplyGradientDescent", (self.elements // 4,)),
            *(OpSize(type_, image) for type_ in ("BiasAdd", "BiasAddGrad", "Mean", "Sum", "ConcatV2", "Slice", *POOLS)),
            OpSize("FusedBatchNormV3", (self.batch, 28, 28, 128)),
            OpSize("FusedBatchNormGradV3", (self.batch, 28, 28, 128)),
            OpSize("Softmax", (matrix, matrix)),
            OpSize("Transpose", (matrix, matrix)),
        )


USUAL = GpuSizes()


def peak_trial(float_type: str, copies: int) -> str:
    """So many copies of the largest matrix product in a data type."""
    return f"peak {float_type} {copies}"
