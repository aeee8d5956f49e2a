"""The device kinds with their figures, links and sources.

`python -m experiments devices` writes docs/devices.md and docs/devices/sources.md from the catalogue
(`engine/clusters/device_kinds.py`).
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
        "Figures are those of makers' data sheets and specifications, without losses: [sources](devices/sources.md).",
        "If your device is not here, or you have better figures, describe it in the cluster:",
        "[clusters](formats/clusters.md#kinds-of-your-own).",
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
            ("kinds", "machine", "devices", "between devices", "board", "network"), [_links(host) for host in _hosts()]
        ),
        "",
        f"After each transfer a link rests {LINK_REST_US:g} µs, after each op that takes time a device {OP_REST_US}",
        "µs, unless the first table says otherwise. Both come from the published simulator of Placeto. They are the",
        "framework's, not the hardware's, and no data sheet gives them.",
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
        "Latencies: 2 µs between GPUs that reach each other's memory and 15 µs through the host's, from a listing of",
        "NVIDIA's sample p2pBandwidthLatencyTest (1.8 to 2.3 µs, and 11 to 20 µs:",
        "https://github.com/NVIDIA/cuda-samples/issues/230). 30 µs between machines, twice the way through a host, is",
        "an assumption.",
    ]
    return "\n".join(lines) + "\n"


def _hosts() -> list[Host]:
    """Each machine once, in the order of the kinds."""
    return list({kind.host.name: kind.host for kind in CATALOGUE.values()}.values())


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
