"""A micro-batch's step of a tower, recorded by placeto and profiled by torch.profiler, in each of the processes."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import placeto
from torch import distributed
from torch.distributed.pipelining import pipeline
from torch.profiler import ProfilerActivity, schedule
from torch.profiler import profile as profiler_of

from experiments.measured_streams.towers import TOWERS, Tower, loss_of, optimizer_of

WAITED, WARM = 1, 2
"""steps before those whose ops are timed"""
TRACED = 3
"""steps whose ops are timed: with more, what the profiler keeps scatters the memory, and each step takes new pages"""


def record(tower: Tower, path: Path) -> None:
    """Write the step of a micro-batch of training."""
    inputs, targets = tower.batch(1)
    recording = placeto.record(
        tower.model(),
        inputs,
        loss=lambda output: loss_of(output, targets),
        optimizer=optimizer_of,
        batch=tower.input_shape[0],
        name=tower.name,
    )
    recording.save(path)


def profile(rank: int, arguments: Mapping[str, Any]) -> list[float]:
    """The times in µs of the passes of `steps` untraced steps of a `tower`; `TRACED` more go to a file of `traces`.

    The step is that of `torch.distributed.pipelining`'s one stage. The first process also writes the `recording`.
    """
    tower, steps = TOWERS[arguments["tower"]], arguments["steps"]
    if rank == 0:
        record(tower, Path(arguments["recording"]))
    passes, update = step_of(tower)
    untraced = []
    for _ in range(WARM + steps):
        distributed.barrier()
        begin = time.monotonic()
        passes()
        untraced.append((time.monotonic() - begin) * 1e6)
        update()
    marked = schedule(wait=WAITED, warmup=WARM, active=TRACED, repeat=1)
    with profiler_of(activities=[ProfilerActivity.CPU], record_shapes=True, schedule=marked) as profiler:
        for _ in range(WAITED + WARM + TRACED):
            distributed.barrier()
            passes()
            update()
            profiler.step()
    profiler.export_chrome_trace(arguments["traces"][rank])
    return untraced[WARM:]


def step_of(tower: Tower) -> tuple[Callable[[], None], Callable[[], None]]:
    """What runs the passes of a micro-batch, and what updates the weights."""
    inputs, targets = tower.batch(1)
    model = pipeline(tower.model(), (inputs,)).get_stage_module(0)
    optimizer = optimizer_of(model.parameters())

    def passes() -> None:
        loss_of(model(inputs), targets).backward()  # type: ignore[no-untyped-call]

    def update() -> None:
        optimizer.step()
        optimizer.zero_grad()

    return passes, update
