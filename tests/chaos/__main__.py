"""`python -m tests.chaos`: kill parts of the running application at random, and print how soon work goes on."""

import argparse
import json
import platform
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.zoo import build_graph
from tests.chaos.jobs import (
    Kind,
    NotWholeError,
    comparison_kind,
    measurement_kind,
    run_kind,
    training_kind,
    upload_kind,
)
from tests.chaos.material import make_material
from tests.chaos.services import no_services, services
from tests.chaos.site import PARTS, Site
from tests.chaos.storm import UPLOAD, Storm

HEARTBEAT_SECONDS = 2.0
SETTINGS = {"PLACETO_HEARTBEAT_SECONDS": str(HEARTBEAT_SECONDS), "LOG_LEVEL": "INFO"}


def kinds() -> list[Kind]:
    """The jobs: all but the last two take about half a minute on a quiet machine."""
    return [
        run_kind("placeto", "placeto", evaluations=6000, seed=3),
        run_kind("auto", "auto", evaluations=2_000_000, seed=4),
        comparison_kind(["local_search", "heft", "placeto", "random"], evaluations=1500, seeds=2),
        training_kind(seconds=40.0),
        upload_kind(),
        measurement_kind(),
    ]


def main(words: Sequence[str]) -> int:
    """Kill, check, print; the exit status: 0 if every job ended whole."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="of the order of the kills and their moments")
    parser.add_argument("--folder", type=Path, help="for data and logs; a temporary one by default")
    parser.add_argument("--out", type=Path, help="a file for the result as JSON")
    parser.add_argument("--services", action="store_true", help="use and kill a PostgreSQL and a Redis of the system")
    choices = parser.parse_args(words)
    random.seed(choices.seed)
    folder = choices.folder or Path(tempfile.mkdtemp(prefix="placeto-chaos-"))
    folder.mkdir(parents=True, exist_ok=True)
    with (services if choices.services else no_services)(folder) as (outside, settings):
        result = _attack(Site(folder, SETTINGS | settings, outside), choices)
    print(_table(result))
    if choices.out is not None:
        choices.out.write_text(json.dumps(result, indent=1, default=str) + "\n")
    return 0 if result["whole"] else 1


def _attack(site: Site, choices: argparse.Namespace) -> dict[str, Any]:
    began = time.monotonic()
    try:
        site.start()
        storm = _storm(site)
        storm.kill(_order(sorted({*PARTS, UPLOAD, *site.services}), choices.kills))
        storm.finish()
        left = site.left_uploads()
    finally:
        site.end()
    return _result(storm, left, site.starts - 1, time.monotonic() - began, vars(choices))


def _storm(site: Site) -> Storm:
    file = site.folder / "tiny_cnn.pb"
    build_graph("tiny_cnn", file)
    material = make_material(site.visitor, file.name, file.read_bytes())
    storm = Storm(site, material, kinds(), lambda line: print(line, flush=True))
    storm.learn_answers()
    return storm


def _order(parts: Sequence[str], kills: int) -> list[str]:
    """Every part equally often, in random order."""
    order = [parts[index % len(parts)] for index in range(kills)]
    random.shuffle(order)
    return order


def _result(storm: Storm, left: list[str], restarts: int, seconds: float, choices: dict[str, Any]) -> dict[str, Any]:
    seconds_of: dict[str, list[float]] = {}
    for kill in storm.kills:
        seconds_of.setdefault(kill.part, []).append(kill.seconds)
    faults = [fault for ended in storm.ended.values() for fault in ended.faults]
    return {
        "whole": not faults and not left,
        "kills": len(storm.kills),
        "parts": {
            part: {"kills": len(times), "median_seconds": statistics.median(times), "worst_seconds": max(times)}
            for part, times in sorted(seconds_of.items())
        },
        "jobs": {name: ended.whole for name, ended in storm.ended.items()},
        "faults": faults,
        "left_uploads": left,
        "restarts_of_all": restarts,
        "heartbeat_seconds": HEARTBEAT_SECONDS,
        "seconds": seconds,
        "choices": choices,
        "machine": platform.platform(),
    }


def _table(result: dict[str, Any]) -> str:
    lines = ["", "| killed | times | median s | worst s |", "|---|---|---|---|"]
    for part, row in result["parts"].items():
        lines.append(f"| {part} | {row['kills']} | {row['median_seconds']:.1f} | {row['worst_seconds']:.1f} |")
    whole = ", ".join(f"{count} {name}" for name, count in result["jobs"].items())
    lines += ["", f"{result['kills']} kills in {result['seconds']:.0f} s; ended whole: {whole}"]
    lines += [f"all of it ended and was started again {result['restarts_of_all']} times"]
    lines += [f"left in incoming/: {', '.join(result['left_uploads']) or 'nothing'}"]
    return "\n".join([*lines, *(f"FAULT: {fault}" for fault in result["faults"])])


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (NotWholeError, TimeoutError) as error:
        sys.exit(f"chaos: {error}")
