"""The argument `--prefer`, and the verdict of a report in lines."""

import argparse
from collections.abc import Mapping
from typing import Any

from engine import api


def add_prefer(parser: argparse.ArgumentParser, what: str) -> None:
    """Add `--prefer fastest|simplest[=1%]`; `what` says what it decides."""
    parser.add_argument(
        "--prefer",
        default=api.Preference().words,
        metavar="fastest|simplest[=1%]",
        help=f"{what}: that with the fewest devices, then the fewest crossing edges, at most 1 %% (or what you say) "
        "slower. Both are in the report (default %(default)s)",
    )


def verdict_lines(report: Mapping[str, Any]) -> list[str]:
    """The verdict, what is proven, the baselines to compare with, and the two placements beside each other."""
    verdict, simplest = report["verdict"], report["simplest"]
    one_device, best = verdict["one_device_us"], verdict["best_baseline"]
    baselines = "none fits" if one_device is None else api.time_words(one_device)
    named = "" if best is None else f"; best baseline: {best['method']}, {api.time_words(best['step_time_us'])}"
    percent = api.percent_words(simplest["tolerance"])
    both = f"answer: {_counts(report)}; simplest within {percent}: {_counts(simplest)}"
    trade = [verdict["trade_sentence"]] if verdict["trade_sentence"] else []
    proof = [report["proof"]["sentence"]] if "proof" in report else []
    return [verdict["sentence"], *proof, *trade, f"one device: {baselines}{named}", both]


def _counts(placement: Mapping[str, Any]) -> str:
    devices, edges = placement["devices_used"], placement["crossing_edges"]
    return f"{api.time_words(placement['step_time_us'])}, {api.counted(devices, 'device')}, " + api.counted(
        edges, "crossing edge"
    )
