"""The device kinds that can be modelled: their makers' figures, and the machines in which they usually stand.

A multiply-add counts as two operations. The peak of float32 is without tensor cores, that of other types with them
where a kind has them: dense, with sums in float32. A type that a row leaves out runs at the peak of float32. What ops
reach of these figures, and what they cost beside their work, is measured or published: `shares.py`, `hosts.py`. Only
the K80 and the CPU beside it keep the figures of the published simulator: all of the peak, 5.7 µs after an op.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypedDict

from engine.clusters import hosts
from engine.clusters.hosts import Host
from engine.clusters.shares import OP_REST_ON_H200_US, OTHERS, SHARES, SHARES_OF_AMPERE, Efficiency
from engine.clusters.stand_ins import measured_type
from engine.errors import ClusterError, shortened

GIB = 1024**3
GIGABYTE = 10**9
DEVICE_CLASSES = ("GPU", "CPU")
OP_REST_US = 5.7
"""rest of a device after an op of non-zero time, where nothing better is known. Source: the published simulator"""


class FloatType(StrEnum):
    """A data type with a peak of its own."""

    FLOAT32 = "float32"
    FLOAT64 = "float64"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    TENSORFLOAT32 = "tensorfloat32"
    """float32 whose products round to 10 bits of mantissa: what tensor cores do where a framework lets them"""


FLOAT_TYPES: tuple[FloatType, ...] = tuple(FloatType)
"""in the order of their numbers in `Costs.float_type`"""


@dataclass(frozen=True, slots=True)
class DeviceKind:
    """A device model and its figures, each with its source."""

    name: str
    device_class: str
    """`GPU` or `CPU`, also the device's type in TensorFlow"""
    memory_bytes: int
    """memory of one device; a cluster may override it"""
    peak_gflops: float
    """10⁹ float32 operations a second"""
    memory_bandwidth_bytes_per_us: float
    """bandwidth of the device's own memory"""
    source: str
    """documents that give the figures"""
    host: Host = hosts.P2_8XLARGE
    """the machine of a shorthand"""
    peak_gflops_by_type: Mapping[FloatType, float] = field(default_factory=dict)
    """10⁹ operations a second of other data types"""
    efficiency: float = 1.0
    """share of the peak and of the bandwidth that ops reach"""
    efficiency_by_op_type: Mapping[str, Efficiency] = field(default_factory=dict)
    """the same of ops of some types, as measured"""
    op_rest_us: float = OP_REST_US
    """rest after each op of non-zero time; a cluster may override it"""

    def efficiency_of(self, op_type: str) -> Efficiency:
        """The shares that ops of `op_type` reach: its own, those of the measured type like it, or those of all."""
        known = self.efficiency_by_op_type
        own = known.get(op_type) or known.get(measured_type(op_type))
        return own or Efficiency.of_both(self.efficiency)

    def peak_of(self, float_type: FloatType) -> float:
        """10⁹ operations a second of `float_type`."""
        return self.peak_gflops_by_type.get(float_type, self.peak_gflops)


def _peaks(
    float16: float, bfloat16: float = 0.0, float64: float = 0.0, tensorfloat32: float = 0.0
) -> dict[FloatType, float]:
    """Peaks by type; one of 0 is left out."""
    peaks = {
        FloatType.FLOAT16: float16,
        FloatType.BFLOAT16: bfloat16,
        FloatType.FLOAT64: float64,
        FloatType.TENSORFLOAT32: tensorfloat32,
    }
    return {float_type: peak for float_type, peak in peaks.items() if peak}


class _Reached(TypedDict):
    """What ops reach of a kind's figures, as arguments of `DeviceKind`."""

    efficiency: float
    efficiency_by_op_type: Mapping[str, Efficiency]
    op_rest_us: float


_OF_TODAY = _Reached(efficiency=OTHERS, efficiency_by_op_type=SHARES, op_rest_us=OP_REST_ON_H200_US)
_OF_AMPERE = _Reached(efficiency=OTHERS, efficiency_by_op_type=SHARES_OF_AMPERE, op_rest_us=OP_REST_ON_H200_US)
_ROWS = (
    DeviceKind(
        name="K80",
        device_class="GPU",
        memory_bytes=12 * GIB,
        peak_gflops=4368.0,  # 13 · 192 · 2 · 0.875; the data sheet: 8.73 TFLOP/s a board of two, with GPU Boost
        memory_bandwidth_bytes_per_us=240_000,  # 480 GB/s a board of two
        source="one of the two GK210 of a board: NVIDIA Tesla K80 board specification BD-07317-001 (clocks, memory, "
        "bandwidth)",
    ),
    DeviceKind(
        name="K80-measured",
        device_class="GPU",
        memory_bytes=12 * GIB,
        peak_gflops=4368.0,
        memory_bandwidth_bytes_per_us=240_000,
        source="the K80; efficiency and rest are fitted to the paper's steps of 1.56 s (Inception-V3) and 1.28 s "
        "(NASNet) on one K80: `python -m experiments k80_measured`",
        efficiency=0.5904,
        op_rest_us=165.4,
    ),
    DeviceKind(
        name="P100",
        device_class="GPU",
        memory_bytes=16 * GIB,
        peak_gflops=10_608.64,  # 56 · 64 · 2 · 1.48; the data sheet: 10.6 TFLOP/s
        memory_bandwidth_bytes_per_us=732_000,
        source="SXM2, 16 GB: NVIDIA Tesla P100 data sheet and white paper WP-08019-001, table 1",
        host=hosts.DGX_1_P100,
        peak_gflops_by_type=_peaks(21_217.28, 0, 5304.32),  # without tensor cores: twice, half
        **_OF_TODAY,
    ),
    DeviceKind(
        name="V100",
        device_class="GPU",
        memory_bytes=16 * GIB,
        peak_gflops=15_667.2,  # 80 · 64 · 2 · 1.53; the data sheet: 15.7 TFLOP/s
        memory_bandwidth_bytes_per_us=900_000,
        source="SXM2, 16 GB: NVIDIA Tesla V100 data sheet and white paper WP-08608-001, table 1",
        host=hosts.DGX_1_V100,
        peak_gflops_by_type=_peaks(125_000, 0, 7833.6),
        **_OF_TODAY,
    ),
    DeviceKind(
        name="A100",
        device_class="GPU",
        memory_bytes=40 * GIB,
        peak_gflops=19_491.84,  # 108 · 64 · 2 · 1.41; the data sheet: 19.5 TFLOP/s
        memory_bandwidth_bytes_per_us=1_555_000,
        source="SXM4, 40 GB: NVIDIA A100 data sheet and A100 architecture white paper, tables 2 and 4",
        host=hosts.DGX_A100,
        peak_gflops_by_type=_peaks(312_000, 312_000, 9745.92, 156_000),
        **_OF_AMPERE,
    ),
    DeviceKind(
        name="H100",
        device_class="GPU",
        memory_bytes=80 * GIB,
        peak_gflops=66_908.16,  # 132 · 128 · 2 · 1.98; the data sheet: 67 TFLOP/s
        memory_bandwidth_bytes_per_us=3_350_000,
        source="SXM5, 80 GB: NVIDIA H100 data sheet and H100 architecture white paper, table 3",
        host=hosts.DGX_H100,
        peak_gflops_by_type=_peaks(989_400, 989_400, 33_454.08, 494_700),
        **_OF_TODAY,
    ),
    DeviceKind(
        name="CPU",
        device_class="CPU",
        memory_bytes=488 * GIB,  # Amazon EC2 p2.8xlarge, the paper's machine
        peak_gflops=1177.6,  # 16 cores · 2.3 GHz · 32 operations a cycle (two AVX2 multiply-add units of 8 lanes)
        memory_bandwidth_bytes_per_us=76_800,  # four channels of DDR4-2400
        source="Intel Xeon E5-2686 v4 as in Amazon EC2 p2.8xlarge: Amazon EC2 instance types (cores, clock, memory); "
        "Intel Xeon E5-2600 v4 product brief (AVX2, channels, cache)",
    ),
    DeviceKind(
        name="T4",
        device_class="GPU",
        memory_bytes=16 * GIB,
        peak_gflops=8140.8,  # 2560 · 2 · 1.59; the data sheet: 8.1 TFLOP/s
        memory_bandwidth_bytes_per_us=320_000,
        source="NVIDIA T4 data sheet and Turing architecture white paper WP-09183-001",
        host=hosts.G4DN,
        peak_gflops_by_type=_peaks(65_000),
        **_OF_TODAY,
    ),
    DeviceKind(
        name="L4",
        device_class="GPU",
        memory_bytes=24 * GIB,
        peak_gflops=30_289.92,  # 7424 · 2 · 2.04; the data sheet: 30.3 TFLOP/s
        memory_bandwidth_bytes_per_us=300_000,
        source="NVIDIA L4 data sheet",
        host=hosts.G6,
        peak_gflops_by_type=_peaks(121_000, 121_000, 0, 60_500),  # the sheet: 242 with sparsity
        **_OF_AMPERE,
    ),
    DeviceKind(
        name="L40S",
        device_class="GPU",
        memory_bytes=48 * GIB,
        peak_gflops=91_607.04,  # 18176 · 2 · 2.52; the data sheet: 91.6 TFLOP/s
        memory_bandwidth_bytes_per_us=864_000,
        source="NVIDIA L40S data sheet",
        host=hosts.G6E,
        peak_gflops_by_type=_peaks(362_050, 362_050, 0, 183_000),
        **_OF_AMPERE,
    ),
    DeviceKind(
        name="A10G",
        device_class="GPU",
        memory_bytes=24 * GIB,
        peak_gflops=35_000.0,
        memory_bandwidth_bytes_per_us=600_000,
        source="NVIDIA A10G data sheet; Amazon EC2 G5",
        host=hosts.G5,
        peak_gflops_by_type=_peaks(70_000, 70_000),
        **_OF_AMPERE,
    ),
    DeviceKind(
        name="A40",
        device_class="GPU",
        memory_bytes=48 * GIB,
        peak_gflops=37_416.96,  # 10752 · 2 · 1.74; the data sheet: 37.4 TFLOP/s
        memory_bandwidth_bytes_per_us=696_000,
        source="NVIDIA A40 data sheet",
        host=hosts.SERVER_A40,
        peak_gflops_by_type=_peaks(149_700, 149_700, 0, 74_800),
        **_OF_AMPERE,
    ),
    DeviceKind(
        name="RTX3090",
        device_class="GPU",
        memory_bytes=24 * GIB,
        peak_gflops=35_581.44,  # 10496 · 2 · 1.695; the white paper: 35.6 TFLOP/s
        memory_bandwidth_bytes_per_us=936_000,
        source="GeForce RTX 3090: NVIDIA Ampere GA102 architecture white paper",
        host=hosts.WORKSTATION_PCIE_4,
        peak_gflops_by_type=_peaks(71_000, 71_000),
        **_OF_AMPERE,
    ),
    DeviceKind(
        name="RTX4090",
        device_class="GPU",
        memory_bytes=24 * GIB,
        peak_gflops=82_575.36,  # 16384 · 2 · 2.52; the white paper: 82.6 TFLOP/s
        memory_bandwidth_bytes_per_us=1_008_000,
        source="GeForce RTX 4090: NVIDIA Ada GPU architecture white paper",
        host=hosts.WORKSTATION_PCIE_4,
        peak_gflops_by_type=_peaks(165_200, 165_200),
        **_OF_AMPERE,
    ),
    DeviceKind(
        name="RTX5090",
        device_class="GPU",
        memory_bytes=32 * GIB,
        peak_gflops=104_752.64,  # 21760 · 2 · 2.407; the white paper: 104.8 TFLOP/s
        memory_bandwidth_bytes_per_us=1_792_000,
        source="GeForce RTX 5090: NVIDIA RTX Blackwell GPU architecture white paper",
        host=hosts.WORKSTATION_PCIE_5,
        peak_gflops_by_type=_peaks(209_500, 209_500),
        **_OF_TODAY,
    ),
    DeviceKind(
        name="H200",
        device_class="GPU",
        memory_bytes=141 * GIGABYTE,
        peak_gflops=66_908.16,  # the chip of the H100
        memory_bandwidth_bytes_per_us=4_800_000,
        source="SXM5: NVIDIA H200 data sheet",
        host=hosts.DGX_H200,
        peak_gflops_by_type=_peaks(989_400, 989_400, 33_454.08, 494_700),
        **_OF_TODAY,
    ),
    DeviceKind(
        name="B200",
        device_class="GPU",
        memory_bytes=180 * GIGABYTE,  # the data sheet: 1,440 GB in a machine of eight
        peak_gflops=80_000.0,  # at 1,000 W
        memory_bandwidth_bytes_per_us=8_000_000,
        source="NVIDIA Blackwell architecture technical brief, HGX B200 (peaks, bandwidth); NVIDIA DGX B200 data sheet "
        "(memory)",
        host=hosts.DGX_B200,
        peak_gflops_by_type=_peaks(2_250_000, 2_250_000, 40_000, 1_125_000),
        **_OF_TODAY,
    ),
    DeviceKind(
        name="MI300X",
        device_class="GPU",
        memory_bytes=192 * GIGABYTE,
        peak_gflops=163_400.0,  # 304 · 256 · 2.1; vector
        memory_bandwidth_bytes_per_us=5_300_000,
        source="AMD Instinct MI300X data sheet",
        host=hosts.MI300X_PLATFORM,
        peak_gflops_by_type=_peaks(1_307_400, 1_307_400, 81_700, 653_700),
        **_OF_TODAY,
    ),
    DeviceKind(
        name="M1Max",
        device_class="GPU",
        memory_bytes=64 * GIB,
        peak_gflops=10_400.0,
        memory_bandwidth_bytes_per_us=400_000,
        source="GPU of 32 cores: Apple's announcement of the M1 Max, 18 October 2021; of later chips Apple gives no "
        "TFLOP/s but the M2's",
        host=hosts.macintosh("Mac Studio with M1 Max", 400_000),
        **_OF_TODAY,
    ),
    DeviceKind(
        name="M1Ultra",
        device_class="GPU",
        memory_bytes=128 * GIB,
        peak_gflops=21_000.0,
        memory_bandwidth_bytes_per_us=800_000,
        source="GPU of 64 cores: Apple's announcement of the M1 Ultra, 8 March 2022",
        host=hosts.macintosh("Mac Studio with M1 Ultra", 800_000),
        **_OF_TODAY,
    ),
    DeviceKind(
        name="M2",
        device_class="GPU",
        memory_bytes=24 * GIB,
        peak_gflops=3600.0,
        memory_bandwidth_bytes_per_us=100_000,
        source="GPU of 10 cores: Apple's announcement of the M2, 6 June 2022",
        host=hosts.macintosh("Mac mini with M2", 100_000),
        **_OF_TODAY,
    ),
)

CATALOGUE: dict[str, DeviceKind] = {row.name: row for row in _ROWS}
"""name → kind, in the order of the forms"""

COSTED_KINDS = ("K80", "P100", "V100", "A100", "H100", "CPU")
"""kinds whose times a reading keeps, and by whose mean ops are grouped; the times of others follow from an op's work"""

CLASS_MEMORY_BYTES = {"GPU": 16 * GIB, "CPU": CATALOGUE["CPU"].memory_bytes}
"""class → memory of a device of unknown kind, where a cluster gives none"""

KINDS: tuple[str, ...] = (*CATALOGUE, "GPU")
"""every allowed name of a device's kind; `CPU` is both a class and a row of the catalogue"""

_SPELLINGS = {kind.lower(): kind for kind in KINDS}


def canonical_kind(kind: str) -> str:
    """The catalogue's spelling of `kind`, whatever its case. Raises ClusterError for an unknown kind."""
    spelling = _SPELLINGS.get(kind.lower()) if kind.isascii() else None
    if spelling is None:
        raise ClusterError(
            "this device kind is not known", where=shortened(kind), allowed=", ".join(KINDS), field="cluster"
        )
    return spelling


def class_of_kind(kind: str) -> str:
    """The class, `GPU` or `CPU`, of a catalogue's name or a class. Raises ClusterError for an unknown kind."""
    name = canonical_kind(kind)
    return CATALOGUE[name].device_class if name in CATALOGUE else name


def default_memory_bytes(kind: str) -> int:
    """The memory of one device of `kind`. Raises ClusterError for an unknown kind."""
    name = canonical_kind(kind)
    return CATALOGUE[name].memory_bytes if name in CATALOGUE else CLASS_MEMORY_BYTES[name]


def op_rest_us_of_kind(kind: str) -> float:
    """The rest after an op on a catalogue's name; that of the published simulator for a class."""
    return CATALOGUE[kind].op_rest_us if kind in CATALOGUE else OP_REST_US


def host_of_kind(kind: str) -> Host:
    """The usual machine of a catalogue's name; that of the published simulator for a class."""
    return CATALOGUE[kind].host if kind in CATALOGUE else hosts.P2_8XLARGE
