"""Checks that a placed SavedModel loads, serves like its original, and runs on the written devices.

A fresh process with virtual CPU devices and soft placement off loads both by `tf.saved_model.load`, and the placed one
also in a session, as TensorFlow Serving does. It calls each signature once with fixed numbers. This runs the graphs:
use it only with our own.
"""

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from engine.child.parent import Limits, ReportProgress, Results, run_in_child
from engine.events import Json
from experiments.exact_numbers import ask_for_exact_numbers

CHECKING = "checking the placed SavedModels"
LIMITS = Limits(memory_bytes=16 * 1024**3, seconds=600.0)


@dataclass(frozen=True, slots=True)
class Checked:
    """The checks of one placed SavedModel, called twice: in a function and in a session."""

    ops: int
    """of its graph"""
    executed: int
    """ops that the signature ran in the function (the others fill variables, are fed, or are not needed)"""
    compared: int
    """written devices beside executed ones"""
    mismatches: int
    """pairs of different devices"""
    outputs: int
    """arrays that were compared with the original's"""
    unequal: int
    """arrays that differ by more than `loaded_saved_models.TOLERANCE`"""
    largest_difference: float
    """of any two numbers"""
    examples: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return bool(self.executed and self.outputs) and self.mismatches == self.unequal == 0


def check(before: Path, after: Path, devices: int, limits: Limits = LIMITS) -> Checked:
    """`check_all` of one."""
    return check_all([(before, after)], devices, limits)[0]


def check_all(pairs: Sequence[tuple[Path, Path]], devices: int, limits: Limits = LIMITS) -> list[Checked]:
    """Check each (uploaded zip, placed zip) on `devices` CPU devices, all in one fresh process."""
    order: dict[str, Json] = {"pairs": [[str(one.absolute()), str(other.absolute())] for one, other in pairs]}
    _, found = run_in_child(f"{__name__}:check_in_child", order | {"devices": devices}, limits, task=CHECKING)
    rows = cast(list[dict[str, Any]], found["rows"])
    return [Checked(**row | {"examples": tuple(row["examples"])}) for row in rows]


def check_in_child(order: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """The child's side."""
    ask_for_exact_numbers()
    from experiments.placed.loaded_saved_models import compared, give_devices

    devices, pairs = cast(int, order["devices"]), cast(list[list[str]], order["pairs"])
    give_devices(devices)
    rows: list[Json] = []
    for index, pair in enumerate(pairs):
        report_progress(CHECKING, index, len(pairs))
        folders = []
        for number, path in enumerate(pair):
            folders.append(folder / f"{index}-{number}")
            with zipfile.ZipFile(path) as archive:
                archive.extractall(folders[-1])
        rows.append(cast(Json, compared(folders[0], folders[1], devices)))
    return {}, {"rows": rows}
