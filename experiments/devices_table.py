"""The device kinds with their figures, links and sources.

`python -m experiments devices` writes docs/devices.md and docs/devices/sources.md from the catalogue
(`engine/clusters/device_kinds.py`).
"""

from pathlib import Path

from engine.clusters.device_kinds import CATALOGUE, DeviceKind, FloatType
from engine.clusters.hosts import (
    HOST_LATENCY_US,
    NVLINK_SHARE,
    PCIE_SHARE,
    PUBLISHED_REST_US,
    REST_US,
    THROUGH_HOST_SHARE,
    Host,
    Link,
)
from engine.clusters.shares import ATTENTION_OF_AMPERE, OTHERS, SHARES, Efficiency
from experiments.pages import ReportLine, left_rule, table_line, table_of_figures, write_page

COMMAND = "python -m experiments devices"
SAME = "as float32"
NONE = "–"
_TYPES = tuple(FloatType)


def run(folder: Path, report: ReportLine) -> str:
    """Write `folder`/devices.md and its sources, and return the first."""
    report(f"{len(CATALOGUE)} kinds")
    write_page(folder, "devices/sources", sources())
    return write_page(folder, "devices", page())


def page() -> str:
    """The page as Markdown."""
    kinds = list(CATALOGUE.values())
    lines = [
        "# Device kinds",
        "",
        "For those who describe a cluster: each kind's peaks, memory and links.",
        "",
        f"    {COMMAND}      # writes this page and that of the sources",
        "",
        "Peaks, memory and bandwidths are those of makers' data sheets: [sources](devices/sources.md). What ops and",
        "transfers reach of them is [measured on an H200](measuring/calibrating.md), or published, and taken for the",
        "other kinds of today. `K80` and `CPU` are those of the published simulator of Placeto: all of the peak,",
        "5.7 µs after an op, 25 µs after a transfer. So compare kinds of today among themselves: beside them a K80",
        "looks faster than it is (`K80-measured` is what the paper's steps fit). If your device is not here, or you",
        "have better figures, measure it (`python -m engine calibrate`) or describe it in the cluster:",
        "[clusters](formats/clusters.md#kinds-of-your-own).",
        "",
        "## Figures",
        "",
        "TFLOP/s count a multiply-add as two operations: float32 without tensor cores, the other types with them where",
        "a kind has them, dense. An op's time is its operations at the peak of its type plus its bytes at the",
        "memory's bandwidth, each divided by the share that ops of its type reach ([below](#what-ops-reach);",
        "[costs.md](costs.md#times)). The rest is what launching an op costs.",
        "",
        *table_of_figures(
            ("kind", "memory, GB", "GB/s", *(str(each) for each in _TYPES), "reached", "rest, µs"),
            [_figures(kind) for kind in kinds],
        ),
        "",
        "`tensorfloat32` is float32 whose products a tensor core rounds: products and convolutions of TensorFlow and",
        "ONNX Runtime, convolutions of PyTorch, and its products where `torch.set_float32_matmul_precision` allows it.",
        "",
        "## What ops reach",
        "",
        f"Shares of a kind's peak and bandwidth, for all kinds whose row says `by type`; other ops reach {OTHERS:g}",
        "of both. A share above 1: caches hold what the op reads. An op type that is not here has the shares of the",
        "one that does the same work: `mm`, `addmm` and `Gemm` those of `MatMul`, `convolution` and `Conv` those of",
        "`Conv2D`, a layer norm those of `Softmax`, a lookup those of `Slice` (`engine/clusters/stand_ins.py`).",
        "",
        *table_of_figures(("op type", "peak", "bandwidth"), [_shares(*each) for each in SHARES.items()]),
        "",
        f"`Attention`, fused, is published and not measured: {ATTENTION_OF_AMPERE:g} of the peak on Ampere and Ada.",
        "",
        "## Machines and links",
        "",
        "A shorthand such as `4xA100` puts its devices into the machine in which they usually stand, one machine",
        "after the other. GB/s are those of one direction; µs are the latency of a transfer. Devices of different",
        "kinds share the first machine and reach each other, and the CPU, over the board, at the slower of the two",
        "links. The network is each device's share of its machine's. Transfers wait for each other as with",
        "`contention` `bus`.",
        "",
        *table_of_figures(
            ("kinds", "machine", "devices", "between devices", "board", "network"), [_links(host) for host in _hosts()]
        ),
        "",
        f"GB/s are what transfers reach: of PCIe {PCIE_SHARE:g} of its figure (measured), of NVLink {NVLINK_SHARE:g}",
        "(published). Two GPUs of different kinds, and GeForce cards, reach each other through the host's memory:",
        f"{THROUGH_HOST_SHARE:g} of that, {HOST_LATENCY_US:g} µs. A link rests {PUBLISHED_REST_US:g} µs after each",
        f"transfer where a K80 or a device of no known model is among the GPUs, else {REST_US:g}.",
        "",
        "Every device launches its own ops, as in TensorFlow and with a process for each device. Where one thread of",
        "PyTorch launches the ops of all devices, no step is shorter than all launches together: a split of many small",
        "ops gains less there than it seems to.",
        "",
        "## What changed",
        "",
        "Until commit 586a9c88 all kinds reached all of their peaks, links all of theirs, and rested as the K80's do.",
        "The tables of [the results](results.md) that were made with kinds other than the K80 before it keep those",
        "figures. Graphs that were read before keep their times until they are read again.",
        "[Sensitivity](results/sensitivity.md) has how placements hold from one set of figures to the other.",
    ]
    return "\n".join(lines) + "\n"


def sources() -> str:
    """The page of sources as Markdown."""
    boards = {host.board.name: host.board.source for host in _hosts()}
    lines = [
        "# Sources of the device kinds",
        "",
        "For those who check a figure of [the device kinds](../devices.md).",
        "",
        f"    {COMMAND}",
        "",
        "## Figures of a kind",
        "",
        table_line(("kind", "figures")),
        left_rule(2),
        *(table_line((f"`{kind.name}`", kind.source)) for kind in CATALOGUE.values()),
        "",
        "## Machines",
        "",
        table_line(("machine", "its own source", "between devices", "network")),
        left_rule(4),
        *(table_line(_sources(host)) for host in _hosts()),
        "",
        "## Boards",
        "",
        *(f"- {name}: {source}" for name, source in boards.items()),
        "",
        "## What is reached",
        "",
        "- Ops: [h200.json](../results/h200.json), measured with `python -m engine calibrate`; as shares of the data",
        "  sheet's figures. For the other kinds these are assumptions: no other GPU was measured.",
        "- Fused attention: arXiv 2407.08608 (0.35 on an H100), arXiv 2307.08691 (0.50 to 0.73 on an A100).",
        "- The rest of a device after an op: 5.5 µs on the H200 (5.3 to 7.8); the driver's and the framework's.",
        "- PCIe: 53.5 of 63.0 GB/s and 4.1 µs to pinned memory on the H200; 54.3 GB/s and 4.1 µs between two GPUs,",
        "  https://github.com/lukealonso/p2pmark. Through the host: 37.2 GB/s on PCIe 5.0,",
        "  https://github.com/NVIDIA/nccl/issues/1264; 22 GB/s on PCIe 4.0, https://github.com/NVIDIA/nccl/issues/814.",
        "- NVLink: 376 of 450 GB/s between H100s, nccl issue 1264, taken for all with switches; 18.3 of 20 GB/s",
        "  between P100s, 47.9 of 50 between V100s, Dell EMC, deep learning on V100, table 3.",
        "- Latencies: 4.1 µs for a copy of few bytes, as measured, over any link, though the wire of NVLink takes 2 µs",
        "  alone; 15 µs through the host's memory (11 to 20 µs): a listing of NVIDIA's sample p2pBandwidthLatencyTest,",
        "  https://github.com/NVIDIA/cuda-samples/issues/230. 30 µs between machines, twice the way through a host, is",
        "  an assumption. Each has 5.5 µs more for the launch of the op that sends: its device waits for it in its own",
        "  rest, and who receives would not.",
        "- The rest of a link after a transfer: none, since the second of two copies one way on the H200 waits for",
        "  0.97 of the first and nothing else.",
    ]
    return "\n".join(lines) + "\n"


def _hosts() -> list[Host]:
    """Each machine once, in the order of the kinds."""
    return list({kind.host.name: kind.host for kind in CATALOGUE.values()}.values())


def _figures(kind: DeviceKind) -> tuple[str, ...]:
    others = [kind.peak_gflops_by_type.get(each) for each in _TYPES if each != FloatType.FLOAT32]
    return (
        f"`{kind.name}`",
        f"{kind.memory_bytes / 1e9:.1f}",
        f"{kind.memory_bandwidth_bytes_per_us / 1000:,.0f}",
        _teraflops(kind.peak_gflops),
        *(SAME if peak is None else _teraflops(peak) for peak in others),
        "by type" if kind.efficiency_by_op_type else f"{kind.efficiency:.4g}",
        f"{kind.op_rest_us:.4g}",
    )


def _shares(op_type: str, efficiency: Efficiency) -> tuple[str, ...]:
    return (f"`{op_type}`", f"{efficiency.peak:.3f}", f"{efficiency.bandwidth:.3f}")


def _teraflops(gflops: float) -> str:
    return f"{gflops / 1000:,.4g}" if gflops < 1e6 else f"{gflops / 1000:,.0f}"


def _links(host: Host) -> tuple[str, ...]:
    kinds = ", ".join(f"`{kind.name}`" for kind in CATALOGUE.values() if kind.host.name == host.name)
    count = "any" if host.devices is None else str(host.devices)
    return (kinds, host.name, count, *(_link(link) for link in (host.peer, host.board, host.network)))


def _link(link: Link | None) -> str:
    if link is None:
        return NONE
    return f"{link.name}: {link.bandwidth_bytes_per_us / 1000:.4g} GB/s, {link.latency_us:g} µs"


def _sources(host: Host) -> tuple[str, ...]:
    peer = "the board" if host.peer.source == host.board.source else host.peer.source
    network = NONE if host.network is None else host.network.source
    return (host.name, host.source, peer, network)
