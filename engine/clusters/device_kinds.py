"""The device kinds that can be modelled: their makers' figures, and the form that TensorFlow's estimator needs.

Grappler's analytic estimator (tensorflow/core/grappler/costs/op_level_cost_estimator.cc, GetDeviceInfo) uses only two
figures of a device, which it computes from DeviceProperties:

- GPU: GFLOP/s = num_cores · frequency MHz / 1000 · C · 2, with C = 32, 192, 128 or 64 cores a multiprocessor for an
  `architecture` string below "3", "4", "6", or from "6" on (compared as text);
- CPU: GFLOP/s = num_cores · frequency MHz / 1000, one operation a core and cycle, without vector units;
- both: GB/s = bandwidth / 1e6, so `bandwidth` is in KB/s.

`grappler_cores` is the number that makes these GFLOP/s equal the device's own: the multiprocessors of a GPU, twice as
many for an H100 (128 cores a multiprocessor), and the floating-point operations a cycle of a CPU.
"""

from dataclasses import dataclass

from engine.errors import ClusterError, shortened

GIB = 1024**3
KIB = 1024
DEVICE_CLASSES = ("GPU", "CPU")


@dataclass(frozen=True, slots=True)
class DeviceKind:
    """A device model and its figures, each with its source."""

    name: str
    device_class: str
    """`GPU` or `CPU`, also the device's type in TensorFlow"""
    memory_bytes: int
    """memory of one device; a cluster may override it"""
    peak_gflops: float
    """10⁹ fp32 operations a second at `frequency_mhz`, a multiply-add counts as two; no tensor cores"""
    memory_bandwidth_bytes_per_us: float
    """bandwidth of the device's own memory"""
    frequency_mhz: int
    """boost clock of a GPU, base clock of a CPU"""
    processors: int
    """multiprocessors of a GPU, cores of a CPU"""
    grappler_cores: int
    """`num_cores` for Grappler's estimator: see the module"""
    architecture: str
    """`environment["architecture"]` for Grappler: compute capability of a GPU, empty for a CPU"""
    l2_bytes: int
    """size of the last cache level, which all processors share"""
    registers_per_processor: int
    """32-bit registers of a GPU's multiprocessor, 0 for a CPU"""
    shared_memory_per_processor_bytes: int
    """shared memory of a GPU's multiprocessor, 0 for a CPU"""
    source: str
    """documents that give the figures"""

    @property
    def grappler_bandwidth_kb_per_second(self) -> int:
        """`bandwidth` for Grappler's estimator."""
        return round(self.memory_bandwidth_bytes_per_us * 1000)


_ROWS = (
    DeviceKind(
        name="K80",
        device_class="GPU",
        memory_bytes=12 * GIB,
        peak_gflops=4368.0,  # 13 · 192 · 2 · 0.875; the data sheet: 8.73 TFLOP/s a board of two, with GPU Boost
        memory_bandwidth_bytes_per_us=240_000,  # 480 GB/s a board of two
        frequency_mhz=875,
        processors=13,
        grappler_cores=13,
        architecture="3.7",
        l2_bytes=1536 * KIB,
        registers_per_processor=131_072,
        shared_memory_per_processor_bytes=112 * KIB,
        source="one of the two GK210 of a board: NVIDIA Tesla K80 board specification BD-07317-001 (clocks, memory, "
        "bandwidth) and CUDA C++ programming guide, compute capability 3.7 (registers, shared memory)",
    ),
    DeviceKind(
        name="P100",
        device_class="GPU",
        memory_bytes=16 * GIB,
        peak_gflops=10_608.64,  # 56 · 64 · 2 · 1.48; the data sheet: 10.6 TFLOP/s
        memory_bandwidth_bytes_per_us=732_000,
        frequency_mhz=1480,
        processors=56,
        grappler_cores=56,
        architecture="6.0",
        l2_bytes=4096 * KIB,
        registers_per_processor=65_536,
        shared_memory_per_processor_bytes=64 * KIB,
        source="SXM2, 16 GB: NVIDIA Tesla P100 data sheet and white paper WP-08019-001, table 1",
    ),
    DeviceKind(
        name="V100",
        device_class="GPU",
        memory_bytes=16 * GIB,
        peak_gflops=15_667.2,  # 80 · 64 · 2 · 1.53; the data sheet: 15.7 TFLOP/s
        memory_bandwidth_bytes_per_us=900_000,
        frequency_mhz=1530,
        processors=80,
        grappler_cores=80,
        architecture="7.0",
        l2_bytes=6144 * KIB,
        registers_per_processor=65_536,
        shared_memory_per_processor_bytes=96 * KIB,
        source="SXM2, 16 GB: NVIDIA Tesla V100 data sheet and white paper WP-08608-001, table 1",
    ),
    DeviceKind(
        name="A100",
        device_class="GPU",
        memory_bytes=40 * GIB,
        peak_gflops=19_491.84,  # 108 · 64 · 2 · 1.41; the data sheet: 19.5 TFLOP/s
        memory_bandwidth_bytes_per_us=1_555_000,
        frequency_mhz=1410,
        processors=108,
        grappler_cores=108,
        architecture="8.0",
        l2_bytes=40_960 * KIB,
        registers_per_processor=65_536,
        shared_memory_per_processor_bytes=164 * KIB,
        source="SXM4, 40 GB: NVIDIA A100 data sheet and A100 architecture white paper, tables 2 and 4",
    ),
    DeviceKind(
        name="H100",
        device_class="GPU",
        memory_bytes=80 * GIB,
        peak_gflops=66_908.16,  # 132 · 128 · 2 · 1.98; the data sheet: 67 TFLOP/s
        memory_bandwidth_bytes_per_us=3_350_000,
        frequency_mhz=1980,
        processors=132,
        grappler_cores=264,  # 128 cores a multiprocessor, where the estimator assumes 64
        architecture="9.0",
        l2_bytes=51_200 * KIB,
        registers_per_processor=65_536,
        shared_memory_per_processor_bytes=228 * KIB,
        source="SXM5, 80 GB: NVIDIA H100 data sheet and H100 architecture white paper, table 3",
    ),
    DeviceKind(
        name="CPU",
        device_class="CPU",
        memory_bytes=488 * GIB,  # Amazon EC2 p2.8xlarge, the paper's machine
        peak_gflops=1177.6,  # 16 cores · 2.3 GHz · 32 operations a cycle (two AVX2 multiply-add units of 8 lanes)
        memory_bandwidth_bytes_per_us=76_800,  # four channels of DDR4-2400
        frequency_mhz=2300,
        processors=16,  # 32 vCPU of p2.8xlarge are 16 cores
        grappler_cores=512,  # 16 cores · 32 operations a cycle
        architecture="",
        l2_bytes=46_080 * KIB,  # 2.5 MB of last level cache a core, 18 cores a chip
        registers_per_processor=0,
        shared_memory_per_processor_bytes=0,
        source="Intel Xeon E5-2686 v4 as in Amazon EC2 p2.8xlarge: Amazon EC2 instance types (cores, clock, memory); "
        "Intel Xeon E5-2600 v4 product brief (AVX2, channels, cache)",
    ),
)

CATALOGUE: dict[str, DeviceKind] = {row.name: row for row in _ROWS}
"""name → kind, in the order of the forms"""

CLASS_MEMORY_BYTES = {"GPU": 16 * GIB, "CPU": CATALOGUE["CPU"].memory_bytes}
"""class → memory of a device of unknown kind, where a cluster gives none"""

KINDS: tuple[str, ...] = (*CATALOGUE, "GPU")
"""every allowed name of a device's kind; `CPU` is both a class and a row of the catalogue"""


def canonical_kind(kind: str) -> str:
    """The catalogue's spelling of `kind`, whatever its case. Raises ClusterError for an unknown kind."""
    spelling = kind.upper() if kind.isascii() else kind
    if spelling not in KINDS:
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
