"""Profiles a graph: runs it on this machine with random inputs and writes its op times as RunMetadata.

The graph is executed, in a child with limits; `runnable.py` lists the allowed op types.
"""

from pathlib import Path
from typing import cast

from engine.child.parent import (
    Limits,
    Pulse,
    ReportProgress,
    child_results,
    no_progress,
    no_pulse,
    publish,
    require_size,
)
from engine.errors import GraphError, SettingsError
from engine.events import Json
from engine.formats.reading import order_of
from engine.formats.registry import format_of
from engine.graphs.reading_options import ReadingOptions

PROFILING = "profiling the graph"
METADATA_FILE = "run_metadata.pb"
MOST_STEPS = 1000
MOST_THREADS = 1024
BUSY = 1.3
"""on an idle machine a step on CPUs takes at most this many times its processor time"""
MEASURING_LIMITS = Limits(memory_bytes=16 * 1024**3, seconds=600.0)
"""running a graph takes more memory than reading it: its variables and activations exist"""


def profile(
    path: Path,
    suffix: str,
    destination: Path,
    options: ReadingOptions,
    limits: Limits,
    report_progress: ReportProgress = no_progress,
    steps: int = 5,
    threads: int | None = None,
    pulse: Pulse = no_pulse,
) -> dict[str, Json]:
    """Run the graph in `path` `steps` times on each device class of this machine; write `destination` (RunMetadata).

    The file has each op's median time over the steps. `threads` of each op on a CPU; None: as many as processors.
    `pulse` is called several times a second; what it raises ends the child.
    Returns `ops`, `measured_ops`, `classes`, `step_time_us` {class: µs, ops one at a time} and `processor_us` {class:
    µs of all threads together}, both the median of untraced steps, `targets`, `left_out` [[op, why], ...], `steps`,
    `threads`, `notes`. Raises GraphError for a graph that cannot be run, SettingsError, LimitError.
    """
    require_steps(steps, threads)
    require_graphdef(suffix)
    require_size(path, limits)
    order = order_of(path, suffix, options, limits) | {"steps": steps, "threads": threads or 0}
    with child_results(
        f"{__name__}_in_child:profile_in_child",
        order,
        limits,
        task=PROFILING,
        report_progress=report_progress,
        pulse=pulse,
        with_gpus=True,
    ) as ((_, texts), folder):
        publish(folder / METADATA_FILE, destination)
    wall_us, processor_us = cast(list[dict[str, float]], [texts["step_time_us"], texts["processor_us"]])
    notes: list[Json] = [*cast(list[Json], texts["notes"]), *busy_notes(wall_us["CPU"], processor_us["CPU"])]
    return texts | {"steps": steps, "threads": threads, "notes": notes}


def busy_notes(wall_us: float, processor_us: float) -> list[str]:
    """A sentence for people if a step on CPUs waited for processors that other work used."""
    if wall_us <= BUSY * processor_us:
        return []
    waited = f"a step took {wall_us / processor_us:.1f} times its processor time"
    return [f"The machine was busy with other work ({waited}): measure again when it is idle."]


def require_graphdef(suffix: str) -> None:
    """Raise GraphError for a format that holds no ops to run."""
    row = format_of(suffix)
    if not row.is_tensorflow:
        raise GraphError(f"{row.words} holds no ops that can be run", where=suffix, allowed="a TensorFlow graph")


def require_steps(steps: int, threads: int | None) -> None:
    """Raise SettingsError for numbers out of range."""
    if not 1 <= steps <= MOST_STEPS:
        raise SettingsError(f"{steps}", where="steps", allowed=f"1 to {MOST_STEPS}", field="steps")
    if threads is not None and not 1 <= threads <= MOST_THREADS:
        raise SettingsError(f"{threads}", where="threads", allowed=f"1 to {MOST_THREADS}", field="threads")
