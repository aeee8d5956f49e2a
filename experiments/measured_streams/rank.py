"""One process of a pipeline: `python -m experiments.measured_streams.rank FOLDER RANK` does its part of a job.

The folder holds the order; the result goes there. Processes find each other by a file in it and speak through gloo.
Times are of the clock that all processes of a machine share, in seconds.
"""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import distributed

from experiments.measured_streams import batches, link, profiled
from experiments.measured_streams.running import ORDER, STORE, result_file
from experiments.real_plans import training

JOBS: Mapping[str, Callable[[int, Mapping[str, Any]], Any]] = {
    "link": link.trial_times,
    "profile": profiled.profile,
    "batches": batches.batch_times,
    "pass_times": training.pass_times,
    "alone": training.alone,
    "plans": training.trained,
}
"""job → what a process of this rank does with the arguments of the order"""


TOUCHED, PIECE = 512, 2**18
"""tensors that are made and dropped at the start, and the numbers in each: 512 MiB"""


def _touch_memory() -> None:
    """Take memory that the allocator keeps, so that no step is the first to use a page."""
    held = [torch.ones(PIECE) for _ in range(TOUCHED)]
    del held


def main(folder: Path, rank: int) -> None:
    """Join the others, do the job, and write the result."""
    torch.set_num_threads(1)
    _touch_memory()
    order = json.loads((folder / ORDER).read_text())
    store = distributed.FileStore(  # type: ignore[attr-defined]  # torch does not list it
        str(folder / STORE), order["ranks"]
    )
    distributed.init_process_group("gloo", store=store, rank=rank, world_size=order["ranks"])
    try:
        result = JOBS[order["job"]](rank, order["arguments"])
    finally:
        distributed.destroy_process_group()
    (folder / result_file(rank)).write_text(json.dumps(result))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
