"""Devices in the form that Grappler's analytic estimator needs, to ask it about each kind itself.

Source: tensorflow/core/grappler/costs/op_level_cost_estimator.cc, GetDeviceInfo. It uses only two figures of a device:

- GPU: GFLOP/s = num_cores · frequency MHz / 1000 · C · 2, with C = 32, 192, 128 or 64 cores a multiprocessor for an
  `architecture` string below "3", "4", "6", or from "6" on (compared as text);
- CPU: GFLOP/s = num_cores · frequency MHz / 1000, one operation a core and cycle, without vector units;
- both: GB/s = bandwidth / 1e6, so `bandwidth` is in KB/s.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GrapplerDevice:
    """A kind of the catalogue as the estimator sees it."""

    frequency_mhz: int
    """boost clock of a GPU, base clock of a CPU"""
    cores: int
    """`num_cores`: what makes the estimator's GFLOP/s the kind's own"""
    architecture: str
    """compute capability of a GPU, empty for a CPU"""


GRAPPLER_DEVICES = {
    "K80": GrapplerDevice(875, 13, "3.7"),
    "P100": GrapplerDevice(1480, 56, "6.0"),
    "V100": GrapplerDevice(1530, 80, "7.0"),
    "A100": GrapplerDevice(1410, 108, "8.0"),
    "H100": GrapplerDevice(1980, 264, "9.0"),  # 132 multiprocessors of 128 cores, where the estimator assumes 64
    "CPU": GrapplerDevice(2300, 512, ""),  # 16 cores of 32 operations a cycle
}
