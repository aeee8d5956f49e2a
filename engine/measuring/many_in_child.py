"""One round over many placements of a graph: the child's side of `many.py`."""

from pathlib import Path
from typing import cast

import numpy as np

from engine.child.parent import ReportProgress, Results
from engine.errors import ClusterError
from engine.events import Json
from engine.measuring.many import WARM_UP_STEPS
from engine.measuring.measurement_in_child import STAGE, devices_of, placed_run, read_runnable
from engine.measuring.session_graph import Steps


def round_in_child(order: dict[str, Json], _folder: Path, report_progress: ReportProgress) -> Results:
    """`wall_us` [visits, steps] of the `visits` to `placements`, each in a session of its own."""
    report_progress("loading TensorFlow", 0, 0)
    runnable = read_runnable(order, report_progress)
    names, ops = cast(list[str], order["devices"]), cast(list[str], order["ops"])
    placements, visits = cast(list[list[int]], order["placements"]), cast(list[int], order["visits"])
    steps = cast(int, order["steps"])
    progress = Steps(report_progress, STAGE, 0, len(visits) * (WARM_UP_STEPS + steps))
    wall_us = []
    with devices_of(order, set(names)) as here:
        if here.virtual:
            what = "this machine lacks devices of the cluster"
            raise ClusterError(what, where="cluster", allowed="this machine's, or CPUs alone", field="cluster")
        for visit in visits:
            device_of_op = {op: names[device] for op, device in zip(ops, placements[visit], strict=True)}
            with placed_run(runnable, device_of_op, here) as (placed, _):
                placed.timed(WARM_UP_STEPS, progress)
                wall_us.append(placed.timed(steps, progress).wall_us)
    return {"wall_us": np.array(wall_us)}, {}
