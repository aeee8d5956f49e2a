"""The machines in which devices usually stand: their links, each with its source.

A link's bandwidth is that of one direction: what transfers reach of the figure in its specification or data sheet, as
measured on the same generation or the nearest one. A latency is the time of a transfer of almost no bytes, with the
launch of the op that sends. After a transfer links of the published simulator rest, those of today do not (`REST_US`).
"""

from dataclasses import dataclass, replace

from engine.clusters.shares import OP_REST_ON_H200_US

GBIT = 125
"""bytes a µs of one Gb/s"""
PUBLISHED = "the published simulator of Placeto (Addanki et al., NeurIPS 2019)"
PUBLISHED_REST_US = 25.0
"""rest of a bus or channel after a transfer, in a machine with K80s or devices of no known model. Source: PUBLISHED"""
REST_US = 0.0
"""the same of machines of today: on an H200 the second of two copies one way waits for 0.97 of the first, for nothing
else (docs/results/h200.json)"""
COPY_US = 4.1
"""of a copy of almost no bytes, whatever the link. Source: an H200, to and from pinned memory of the host: 3.8 to 5.8
µs (docs/results/h200.json); 4.1 µs between two GPUs by PCIe: https://github.com/lukealonso/p2pmark. The wire of NVLink
alone takes 2 µs: the CUDA sample p2pBandwidthLatencyTest, https://github.com/NVIDIA/cuda-samples/issues/230"""
THROUGH_HOST_US = 15.0
"""the same between two GPUs through the host's memory. Source: the same listing, `P2P=Disabled`, 11 to 20 µs"""
COPY_LATENCY_US = COPY_US + OP_REST_ON_H200_US
"""of a transfer: the op before it, which the receiver waits for, is launched as every op. A device's own next op waits
for that launch too, in the device's rest; so no step gets shorter by sending what could stay"""
HOST_LATENCY_US = THROUGH_HOST_US + OP_REST_ON_H200_US
NETWORK_LATENCY_US = 2 * THROUGH_HOST_US + OP_REST_ON_H200_US
"""through the memory of both hosts: the adapters' own latency, some µs, is small beside it"""
PCIE_SHARE = 0.85
"""of PCIe's figure. Source: an H200, 53.5 of 63.0 GB/s (docs/results/h200.json); 54.3 between two GPUs (p2pmark)"""
THROUGH_HOST_SHARE = 0.7
"""of what PCIe reaches, for a copy between two GPUs through the host's memory. Source: 37.2 GB/s on PCIe 5.0,
https://github.com/NVIDIA/nccl/issues/1264; 22 GB/s, 0.83, on PCIe 4.0, https://github.com/NVIDIA/nccl/issues/814"""
PAIRED_SHARES = (0.916, 0.958)
"""of the figure of single links of NVLink 1 and 2. Source: 18.3 of 20 GB/s between P100s and 47.9 of 50 GB/s between
V100s, Dell EMC, deep learning on V100, table 3"""
NVLINK_SHARE = 0.835
"""of the figure of NVLink through switches. Source: 376 of 450 GB/s between H100s, nccl issue 1264"""


@dataclass(frozen=True, slots=True)
class Link:
    """A link between two devices."""

    name: str
    bandwidth_bytes_per_us: float
    """of one direction"""
    latency_us: float
    source: str

    def narrower(self, other: "Link") -> "Link":
        """The slower of two links in a row; the later latency counts."""
        slower = self if self.bandwidth_bytes_per_us <= other.bandwidth_bytes_per_us else other
        latency_us = max(self.latency_us, other.latency_us)
        return Link(slower.name, slower.bandwidth_bytes_per_us, latency_us, slower.source)

    def through_host(self) -> "Link":
        """Between two devices of which neither reaches the other's memory; itself where the memory is the host's."""
        if not self.latency_us:
            return self
        bandwidth = self.bandwidth_bytes_per_us * THROUGH_HOST_SHARE
        return replace(self, bandwidth_bytes_per_us=bandwidth, latency_us=HOST_LATENCY_US)


@dataclass(frozen=True, slots=True)
class Host:
    """A machine with some devices of one kind."""

    name: str
    devices: int | None
    """devices of the kind in one machine; None: any number"""
    peer: Link
    """between two devices of the kind"""
    board: Link
    """to a CPU, and to devices of other kinds in the same machine"""
    network: Link | None
    """to another machine, for each device; None: there is never another"""
    source: str
    rest_us: float = REST_US
    """rest of a bus or channel after a transfer"""


def _network(name: str, gigabits: float, devices: int, source: str) -> Link:
    """A device's share of its machine's network of `gigabits` Gb/s."""
    return Link(name, gigabits * GBIT / devices, NETWORK_LATENCY_US, source)


PLAIN_NETWORK = _network("Ethernet", 10, 1, "IEEE 802.3an, 10GBASE-T: 10 Gb/s")
"""between two machines that a cluster names, of kinds that usually stand in one machine"""
P2 = Link("PCIe of p2.8xlarge", 7_600.0, 0.0, PUBLISHED + ", 7.6 GB/s")


def _pcie(generation: int, gigatransfers: int) -> Link:
    """Sixteen lanes, 128 of 130 bits of which are data."""
    specified = gigatransfers * 16 * 128 / 130 / 8 * 1000
    source = f"PCI-SIG, PCI Express {generation}.0: {gigatransfers} GT/s · 16 lanes · 128/130 / 8"
    return Link(f"PCIe {generation}.0 x16", round(PCIE_SHARE * specified), COPY_LATENCY_US, source)


def _nvlink(generation: int, megabytes: int, source: str, share: float = NVLINK_SHARE) -> Link:
    """NVLink between two GPUs, of `megabytes` bytes a µs by its specification."""
    return Link(f"NVLink {generation}", round(share * megabytes), COPY_LATENCY_US, source)


PCIE_3, PCIE_4, PCIE_5 = _pcie(3, 8), _pcie(4, 16), _pcie(5, 32)
NVLINK_1 = _nvlink(1, 20_000, "NVIDIA WP-08019-001: 40 GB/s a link, both directions; one link", PAIRED_SHARES[0])
NVLINK_2 = _nvlink(2, 25_000, "NVIDIA WP-08608-001: 50 GB/s a link, both directions; one link", PAIRED_SHARES[1])
NVSWITCH_A100 = _nvlink(3, 300_000, "NVIDIA A100 data sheet: 600 GB/s, both directions")
NVSWITCH_H100 = _nvlink(4, 450_000, "NVIDIA H100 data sheet: 900 GB/s, both directions")
NVSWITCH_B200 = _nvlink(5, 900_000, "NVIDIA HGX B200 data sheet: 1.8 TB/s, both directions")
INFINITY = Link("Infinity Fabric", 64_000.0, COPY_LATENCY_US, "AMD MI300X data sheet: 128 GB/s a link, both directions")

P2_8XLARGE = Host(
    "Amazon EC2 p2.8xlarge",
    None,
    P2,
    P2,
    None,
    PUBLISHED + ": all devices on buses of 7.6 GB/s, latency 0",
    rest_us=PUBLISHED_REST_US,
)
"""the paper's machine; also that of devices of no particular model"""
DGX_1_P100 = Host(
    "NVIDIA DGX-1 with P100",
    8,
    NVLINK_1,
    PCIE_3,
    _network("InfiniBand EDR", 4 * 100, 8, "NVIDIA DGX-1 data sheet: 4 × 100 Gb/s"),
    "NVIDIA DGX-1 white paper WP-08437-001: eight GPUs in a hybrid cube mesh; we give each pair one link",
)
DGX_1_V100 = Host(
    "NVIDIA DGX-1 with V100",
    8,
    NVLINK_2,
    PCIE_3,
    _network("InfiniBand EDR", 4 * 100, 8, "NVIDIA DGX-1 data sheet: 4 × 100 Gb/s"),
    "NVIDIA DGX-1 white paper WP-08437-002: pairs have one link, two or none; we give each pair one",
)
DGX_A100 = Host(
    "NVIDIA DGX A100",
    8,
    NVSWITCH_A100,
    PCIE_4,
    _network("InfiniBand HDR", 8 * 200, 8, "NVIDIA DGX A100 data sheet: 8 × 200 Gb/s"),
    "NVIDIA DGX A100 data sheet",
)
DGX_H100 = Host(
    "NVIDIA DGX H100",
    8,
    NVSWITCH_H100,
    PCIE_5,
    _network("InfiniBand NDR", 8 * 400, 8, "NVIDIA DGX H100 data sheet: 8 × 400 Gb/s"),
    "NVIDIA DGX H100 data sheet",
)
DGX_H200 = Host(
    "NVIDIA DGX H200",
    8,
    NVSWITCH_H100,
    PCIE_5,
    _network("InfiniBand NDR", 8 * 400, 8, "NVIDIA DGX H200 data sheet: 8 × 400 Gb/s"),
    "NVIDIA DGX H200 data sheet",
)
DGX_B200 = Host(
    "NVIDIA DGX B200",
    8,
    NVSWITCH_B200,
    PCIE_5,
    _network("InfiniBand NDR", 8 * 400, 8, "NVIDIA DGX B200 data sheet: 8 × 400 Gb/s"),
    "NVIDIA DGX B200 data sheet",
)
MI300X_PLATFORM = Host(
    "AMD Instinct MI300X platform",
    8,
    INFINITY,
    PCIE_5,
    _network("InfiniBand NDR", 8 * 400, 8, "Microsoft Azure ND MI300X v5: 8 × 400 Gb/s"),
    "AMD Instinct MI300X platform data sheet: eight GPUs, each joined to each by one link",
)
G4DN = Host(
    "Amazon EC2 g4dn.metal",
    8,
    PCIE_3,
    PCIE_3,
    _network("Ethernet", 100, 8, "Amazon EC2 instance types: 100 Gb/s"),
    "NVIDIA T4 data sheet: PCIe 3.0 x16",
)
G5 = Host(
    "Amazon EC2 g5.48xlarge",
    8,
    PCIE_4,
    PCIE_4,
    _network("Ethernet", 100, 8, "Amazon EC2 instance types: 100 Gb/s"),
    "NVIDIA A10 data sheet: PCIe 4.0 x16",
)
G6 = Host(
    "Amazon EC2 g6.48xlarge",
    8,
    PCIE_4,
    PCIE_4,
    _network("Ethernet", 100, 8, "Amazon EC2 instance types: 100 Gb/s"),
    "NVIDIA L4 data sheet: PCIe 4.0 x16",
)
G6E = Host(
    "Amazon EC2 g6e.48xlarge",
    8,
    PCIE_4,
    PCIE_4,
    _network("Ethernet", 400, 8, "Amazon EC2 instance types: 400 Gb/s"),
    "NVIDIA L40S data sheet: PCIe 4.0 x16",
)
SERVER_A40 = Host(
    "server with A40",
    8,
    PCIE_4,
    PCIE_4,
    _network("Ethernet", 100, 8, "NVIDIA-Certified Systems configuration guide: 100 Gb/s"),
    "NVIDIA A40 data sheet: PCIe 4.0 x16; the optional NVLink bridge of a pair is left out",
)
WORKSTATION_PCIE_4 = Host(
    "workstation with PCIe 4.0",
    4,
    PCIE_4.through_host(),
    PCIE_4,
    _network("Ethernet", 10, 4, "IEEE 802.3an, 10GBASE-T: 10 Gb/s"),
    "NVIDIA's product page: PCIe 4.0 x16; bridges are left out; GeForce cards do not reach each other's memory",
)
WORKSTATION_PCIE_5 = Host(
    "workstation with PCIe 5.0",
    4,
    PCIE_5.through_host(),
    PCIE_5,
    _network("Ethernet", 10, 4, "IEEE 802.3an, 10GBASE-T: 10 Gb/s"),
    "NVIDIA's product page: PCIe 5.0 x16; GeForce cards do not reach each other's memory",
)


def macintosh(name: str, memory_bandwidth_bytes_per_us: float) -> Host:
    """A Macintosh: one GPU, which shares its memory with the CPU."""
    source = "Apple's technical specifications"
    shared = Link("unified memory", memory_bandwidth_bytes_per_us, 0.0, source + ": its bandwidth")
    return Host(name, 1, shared, shared, _network("Ethernet", 10, 1, source + ": 10 Gb Ethernet"), source)
