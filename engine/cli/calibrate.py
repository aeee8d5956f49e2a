"""The command `calibrate`, which measures this machine and writes it as a cluster."""

import argparse
from pathlib import Path

from engine import api
from engine.cli import Commands
from engine.cli.graph_arguments import print_progress, write_report
from engine.files.destinations import require_writable

SHOWN = (
    "op_rest_us",
    "latency_us",
    "bandwidth_bytes_per_us",
    "peak_gflops",
    "memory_bandwidth_bytes_per_us",
    "efficiency",
    "waiting_share",
    "overlap_share.sender",
    "overlap_share.receiver",
    "measured_over_simulated",
)


def add_calibrate(commands: Commands) -> None:
    """Add the command `calibrate --out machine.json`."""
    parser = commands.add_parser(
        "calibrate", help="measure this machine's GPUs, or its processors, and their links, as a cluster"
    )
    parser.add_argument("--out", type=Path, required=True, help="write the cluster here, as JSON")
    parser.add_argument(
        "--rounds",
        type=int,
        default=5,
        help="how often all is measured: a figure has their range (default %(default)s)",
    )
    parser.add_argument(
        "--device",
        default="auto",
        help="cuda: GPUs; cpu: two processes of the processors; auto: GPUs if there are any (default %(default)s)",
    )
    parser.set_defaults(command=_calibrate)


def _calibrate(parsed: argparse.Namespace) -> int:
    require_writable("--out", parsed.out)
    cluster = api.calibrate(print_progress, device=parsed.device, rounds=parsed.rounds)
    write_report(parsed.out, api.cluster_to_json(cluster))
    assert cluster.calibration is not None
    for name in SHOWN:
        if name not in cluster.calibration.figures:
            continue
        figure = cluster.calibration.figures[name]
        print(f"{name}: {figure.value:,.4g} ({figure.low:,.4g} to {figure.high:,.4g}): {figure.how}")
    return 0
