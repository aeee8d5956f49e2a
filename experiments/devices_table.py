"""The device kinds with their figures, links and sources.

`python -m experiments devices` writes docs/devices.md from the catalogue (`engine/clusters/device_kinds.py`).
"""

from pathlib import Path

from engine.clusters.device_kinds import CATALOGUE, OP_REST_US, DeviceKind, FloatType
from engine.clusters.hosts import Host, Link
from engine.clusters.usual_links import LINK_REST_US
from experiments.pages import ReportLine, left_rule, table_line, table_of_figures, write_page

COMMAND = "python -m experiments devices"
SAME = "as float32"
NONE = "–"


def run(folder: Path, report: ReportLine) -> str:
    """Write `folder`/devices.md and return its text."""
    report(f"{len(CATALOGUE)} kinds")
    return write_page(folder, "devices", page())


def page() -> str:
    """The page as Markdown."""
    kinds = list(CATALOGUE.values())
    hosts = list({kind.host.name: kind.host for kind in kinds}.values())
    lines = [
        "# Device kinds",
        "",
        "For those who describe a cluster: each kind's peaks, memory, links, and their sources.",
        "",
        f"    {COMMAND}      # writes this page",
        "",
        "Figures are those of makers' data sheets and specifications, without losses. If your device is not here, or",
        "you have better figures, describe it in the cluster: [clusters](formats/clusters.md#kinds-of-your-own).",
        "",
        "## Figures",
        "",
        "TFLOP/s count a multiply-add as two operations: float32 without tensor cores, the other types with them where",
        "a kind has them, dense. An op's time is its operations at the peak of its type plus its bytes at the",
        "memory's bandwidth, divided by the kind's efficiency ([costs.md](costs.md#times)).",
        "",
        *table_of_figures(
            ("kind", "memory, GB", "GB/s", "float32", "float64", "float16", "bfloat16", "efficiency", "rest, µs"),
            [_figures(kind) for kind in kinds],
        ),
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
            ("kind", "machine", "devices", "between devices", "board", "network"), [_links(kind) for kind in kinds]
        ),
        "",
        f"After each transfer a link rests {LINK_REST_US:g} µs, after each op that takes time a device {OP_REST_US}",
        "µs, unless the first table says otherwise. Both come from the published simulator of Placeto. They are the",
        "framework's, not the hardware's, and no data sheet gives them.",
        "",
        "## Sources",
        "",
        table_line(("kind", "figures")),
        left_rule(2),
        *(table_line((f"`{kind.name}`", kind.source)) for kind in kinds),
        "",
        table_line(("machine", "its own source", "between devices", "board", "network")),
        left_rule(5),
        *(table_line(_sources(host)) for host in hosts),
        "",
        "Latencies: 2 µs between GPUs that reach each other's memory and 15 µs through the host's, from a listing of",
        "NVIDIA's sample p2pBandwidthLatencyTest (1.8 to 2.3 µs, and 11 to 20 µs:",
        "https://github.com/NVIDIA/cuda-samples/issues/230). 30 µs between machines, twice the way through a host, is",
        "an assumption.",
    ]
    return "\n".join(lines) + "\n"


def _figures(kind: DeviceKind) -> tuple[str, ...]:
    others = [kind.peak_gflops_by_type.get(each) for each in (FloatType.FLOAT64, FloatType.FLOAT16, FloatType.BFLOAT16)]
    return (
        f"`{kind.name}`",
        f"{kind.memory_bytes / 1e9:.1f}",
        f"{kind.memory_bandwidth_bytes_per_us / 1000:,.0f}",
        _teraflops(kind.peak_gflops),
        *(SAME if peak is None else _teraflops(peak) for peak in others),
        f"{kind.efficiency:.4g}",
        f"{kind.op_rest_us:.4g}",
    )


def _teraflops(gflops: float) -> str:
    return f"{gflops / 1000:,.4g}" if gflops < 1e6 else f"{gflops / 1000:,.0f}"


def _links(kind: DeviceKind) -> tuple[str, ...]:
    host = kind.host
    count = "any" if host.devices is None else str(host.devices)
    return (f"`{kind.name}`", host.name, count, *(_link(link) for link in (host.peer, host.board, host.network)))


def _link(link: Link | None) -> str:
    if link is None:
        return NONE
    return f"{link.name}: {link.bandwidth_bytes_per_us / 1000:.4g} GB/s, {link.latency_us:g} µs"


def _sources(host: Host) -> tuple[str, ...]:
    network = NONE if host.network is None else host.network.source
    return (host.name, host.source, host.peer.source, host.board.source, network)
