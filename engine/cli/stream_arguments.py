"""The arguments that ask for the throughput of a stream of micro-batches."""

import argparse
from collections.abc import Mapping
from typing import Any

from engine import api
from engine.errors import SettingsError

DEFAULT_MICRO_BATCHES = 8


def add_stream(parser: argparse.ArgumentParser) -> None:
    """Add `--objective`, `--micro-batches`, `--pipeline`, `--contiguous` and `--recompute`."""
    parser.add_argument(
        "--objective",
        choices=list(api.Objective),
        default=str(api.Objective.STEP_TIME),
        help="the time of one step, or the throughput of a stream of micro-batches, each a step of the graph "
        "(default %(default)s)",
    )
    parser.add_argument(
        "--micro-batches",
        type=int,
        metavar="M",
        help=f"with throughput: micro-batches of a batch (default {DEFAULT_MICRO_BATCHES})",
    )
    parser.add_argument(
        "--pipeline",
        metavar="|".join(api.Pipeline),
        help="with throughput: the order in which stages take micro-batches (default 1f1b with a backward pass, else "
        "inference)",
    )
    parser.add_argument(
        "--contiguous",
        action="store_true",
        help="with throughput: a device runs one contiguous part of each pass, as PyTorch's pipelining requires",
    )
    parser.add_argument(
        "--recompute",
        metavar="|".join(api.Recompute),
        help="with throughput: stages keep what they were given alone and run again before their backward pass, which "
        "takes time and saves memory (default none)",
    )


def stream_of(parsed: argparse.Namespace, prepared: api.PreparedGraph | None = None) -> api.Stream | None:
    """The stream that is asked for; None where the step time is. Raises SettingsError.

    Where the order is not said, that of an inference stands for it as long as there is no graph.
    """
    if parsed.objective != api.Objective.THROUGHPUT:
        for name, given in (
            ("--micro-batches", parsed.micro_batches is not None),
            ("--pipeline", parsed.pipeline is not None),
            ("--contiguous", parsed.contiguous),
            ("--recompute", parsed.recompute is not None),
        ):
            if given:
                raise SettingsError("there is no stream", where=name, allowed="--objective throughput")
        return None
    pipeline = api.Pipeline.INFERENCE
    if parsed.pipeline is not None:
        pipeline = api.pipeline_of(parsed.pipeline)
    elif prepared is not None:
        pipeline = api.usual_pipeline(prepared.graph)
    micro_batches = DEFAULT_MICRO_BATCHES if parsed.micro_batches is None else parsed.micro_batches
    recompute = api.Recompute.NONE if parsed.recompute is None else api.recompute_of(parsed.recompute)
    return api.Stream(micro_batches, pipeline, parsed.contiguous, recompute)


def stream_lines(report: Mapping[str, Any]) -> list[str]:
    """What a report says of its stream; nothing of a step."""
    if "stream" not in report:
        return []
    stream = report["stream"]
    period, batch = api.time_words(report["period_us"]), api.time_words(report["batch_time_us"])
    stages = api.counted(report["stages"], "stage")
    rates = [("micro-batches", report["micro_batches_per_second"]), ("samples", report.get("samples_per_second"))]
    rate = ", ".join(f"{value:.4g} {noun} a second" for noun, value in rates if value is not None)
    again = ", stages run again" if "recompute" in stream else ""
    order = f"{stream['micro_batches']} ({stream['pipeline']}{again})"
    line = f"micro-batches: {order}; batch {batch}; period {period}; {stages}"
    return [*([rate] if rate else []), line, *([f"note: {stream['note']}"] if "note" in stream else [])]
