"""The shares of their peaks that ops of a type reach on GPUs of today, as measured on an H200 or published.

`docs/results/h200.json` is the measurement (`engine calibrate`): what each op reaches of the fastest matrix product and
of the memory bandwidth that were seen there. The shares here are those of the data sheet's figures instead, so that
they can be taken for kinds of which only the data sheet is known. A share above 1: caches hold what the op reads.
"""

from collections.abc import Mapping
from typing import NamedTuple

from engine.clusters.stand_ins import ATTENTION


class Efficiency(NamedTuple):
    """The shares that ops of a type reach: above 1 where caches hold what they read."""

    peak: float
    """of the peak, in their operations"""
    bandwidth: float
    """of the memory's bandwidth, in the bytes that they move"""

    @staticmethod
    def of_both(share: float) -> "Efficiency":
        """The same share of both."""
        return Efficiency(share, share)


FASTEST_OF_PEAK = 0.8545
"""bfloat16: 845.4 of 989.4 TFLOP/s; as TensorFloat-32 416.6 of 494.7, float16 809.3 of 989.4"""
STREAM_OF_BANDWIDTH = 0.8948
"""4.295 of 4.8 TB/s"""
MEASURED_ON_H200: Mapping[str, float] = {
    "MatMul": 0.854,
    "BatchMatMulV2": 0.854,
    "Conv2D": 0.549,
    "Conv2DBackpropInput": 0.559,
    "Conv2DBackpropFilter": 0.412,
    "Relu": 1.040,
    "AddV2": 0.968,
    "Tanh": 1.119,
    "Mul": 0.957,
    "Sub": 0.956,
    "Sigmoid": 0.947,
    "Square": 0.908,
    "ReluGrad": 0.955,
    "ResourceApplyGradientDescent": 0.319,
    "BiasAdd": 0.575,
    "BiasAddGrad": 0.371,
    "Mean": 0.371,
    "Sum": 0.372,
    "ConcatV2": 0.896,
    "Slice": 0.604,
    "MaxPool": 0.278,
    "AvgPool": 0.323,
    "MaxPoolGrad": 0.169,
    "AvgPoolGrad": 0.054,
    "FusedBatchNormV3": 0.170,
    "FusedBatchNormGradV3": 0.132,
    "Softmax": 0.585,
    "Transpose": 0.252,
}
"""op type → share of the fastest product and of the bandwidth that were measured beside it"""
OTHERS_ON_H200 = 0.533
"""the same of ops that were not measured"""
ATTENTION_AFTER_AMPERE = 0.35
"""of the peak: what FlashAttention-2, PyTorch's own, reaches on an H100. Source: arXiv 2407.08608"""
ATTENTION_OF_AMPERE = 0.6
"""of the peak: 0.50 to 0.73 on an A100. Source: arXiv 2307.08691"""


def _of_data_sheet(share: float) -> Efficiency:
    """The shares of the data sheet's peak and bandwidth, of one of what was measured."""
    return Efficiency(share * FASTEST_OF_PEAK, share * STREAM_OF_BANDWIDTH)


OTHERS = round(OTHERS_ON_H200 * STREAM_OF_BANDWIDTH, 3)
"""of both: most ops wait for the memory"""
_MEASURED: dict[str, Efficiency] = {op_type: _of_data_sheet(share) for op_type, share in MEASURED_ON_H200.items()}
SHARES: Mapping[str, Efficiency] = {**_MEASURED, ATTENTION: Efficiency(ATTENTION_AFTER_AMPERE, OTHERS)}
"""op type → its shares on GPUs of NVIDIA's Hopper and later ones, and on those of which nothing nearer is known"""
SHARES_OF_AMPERE: Mapping[str, Efficiency] = {**_MEASURED, ATTENTION: Efficiency(ATTENTION_OF_AMPERE, OTHERS)}
"""the same of Ampere and Ada, for which FlashAttention-2 was written"""
OP_REST_ON_H200_US = 5.5
"""what an op costs beside its work: chains of ops without work on an H200, 5.3 to 7.8 µs. The driver and the framework
take it, so that it is hardly another with another GPU"""
