"""Starts the processes of a pipeline, one a stage, and gathers what each writes; all end together."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.errors import ChildError, LimitError
from engine.events import Json
from experiments.architectures.forked import CLIENT
from experiments.folders import ROOT

ENVIRONMENT = {
    "GLOO_SOCKET_IFNAME": "lo",
    "OMP_NUM_THREADS": "1",
    "PYTHONPATH": str(CLIENT),
    "MALLOC_MMAP_THRESHOLD_": str(32 * 2**20),
    "MALLOC_TRIM_THRESHOLD_": str(16 * 2**30),
    "MALLOC_TOP_PAD_": str(64 * 2**20),
}
"""of the processes: loopback alone, one thread, the package that records; and memory that was taken once is kept, else
each batch takes it anew, page by page"""
PAUSE_S, MOST_SAID = 0.05, 2000
MODULE = "experiments.measured_streams.rank"
STORE, ORDER = "store", "order.json"


def result_file(rank: int) -> str:
    """Where a process writes its result, in the folder of its order."""
    return f"{rank}.json"


def of_all_ranks(job: str, arguments: dict[str, Json], ranks: int, seconds: float) -> list[Any]:
    """[ranks] the results of `job` (rank.py), done by so many processes of one thread that reach each other by gloo.

    Raises ChildError where one of them fails, LimitError after `seconds`.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        order: dict[str, Json] = {"job": job, "ranks": ranks, "arguments": arguments}
        (folder / ORDER).write_text(json.dumps(order))
        started = [_started(folder, rank) for rank in range(ranks)]
        try:
            _wait(started, job, seconds)
        finally:
            for each in started:
                each.kill()
                each.wait()
        for rank, each in enumerate(started):
            if each.returncode:
                said = _errors_file(folder, rank).read_text().strip()
                raise ChildError(said[-MOST_SAID:], where=f"process {rank} of {job}")
        return [json.loads((folder / result_file(rank)).read_text()) for rank in range(ranks)]


def _errors_file(folder: Path, rank: int) -> Path:
    return folder / f"{rank}.errors"


def _started(folder: Path, rank: int) -> subprocess.Popen[bytes]:
    given = [f"{name}={value}" for name, value in ENVIRONMENT.items()]
    command = ["env", *given, sys.executable, "-W", "ignore", "-m", MODULE, str(folder), str(rank)]
    with _errors_file(folder, rank).open("w") as errors:
        return subprocess.Popen(  # noqa: S603  # our own words
            command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=errors
        )


def _wait(started: Sequence[subprocess.Popen[bytes]], job: str, seconds: float) -> None:
    """Until all have ended, or one has failed."""
    end = time.monotonic() + seconds
    while any(each.poll() is None for each in started):
        if any(each.poll() for each in started):
            return
        if time.monotonic() > end:
            raise LimitError(f"the processes did not end within {seconds:g} s", where=job, allowed="a quieter machine")
        time.sleep(PAUSE_S)
