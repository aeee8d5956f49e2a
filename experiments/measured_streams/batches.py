"""Batches of a tower by torch.distributed.pipelining, with stages at given split points, timed round by round."""

import random
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import distributed
from torch.distributed.pipelining import Schedule1F1B, ScheduleGPipe, SplitPoint, pipeline

from experiments.measured_streams.towers import TOWERS, Tower, loss_of, optimizer_of

SCHEDULES = {"gpipe": ScheduleGPipe, "1f1b": Schedule1F1B}
"""by the names of our pipelines"""
WARM = 1
"""batches of each visit before those that are timed"""
BatchRun = Callable[[], None]
Timed = tuple[float, float, float]
"""begin and end of a batch in this process, and its processor time"""


def batch_times(rank: int, arguments: Mapping[str, Any]) -> list[list[list[Timed]]]:
    """[rounds][visits][batches] of this process.

    `tower`, `micro_batches`, `splits` (each {module: how} as our export has it; empty: the first process alone),
    `pipelines`, `rounds`, `batches`. A round visits each split with each pipeline once, in an order drawn anew; visits
    are told split by split.
    """
    tower, micro_batches = TOWERS[arguments["tower"]], arguments["micro_batches"]
    visits = [
        batch
        for split in arguments["splits"]
        for batch in (
            _by_stages(rank, tower, micro_batches, split, arguments["pipelines"])
            if split
            else [_alone(rank, tower, micro_batches)] * len(arguments["pipelines"])
        )
    ]
    return [_round(visits, number, arguments["batches"]) for number in range(arguments["rounds"])]


def _round(visits: list[BatchRun], number: int, batches: int) -> list[list[Timed]]:
    order = list(range(len(visits)))
    random.Random(number).shuffle(order)  # noqa: S311  # no secret
    found = {visit: _visit(visits[visit], batches) for visit in order}
    return [found[visit] for visit in range(len(visits))]


def _visit(batch: BatchRun, batches: int) -> list[Timed]:
    return [_timed(batch) for _ in range(WARM + batches)][WARM:]


def _timed(batch: BatchRun) -> Timed:
    distributed.barrier()
    began, spent = time.monotonic(), time.process_time()
    batch()
    return began, time.monotonic(), time.process_time() - spent


def _by_stages(
    rank: int, tower: Tower, micro_batches: int, split: Mapping[str, str], pipelines: list[str]
) -> list[BatchRun]:
    """For each pipeline, what this process does for a batch."""
    inputs, targets = tower.batch(micro_batches)
    points = {module: SplitPoint[how] for module, how in split.items()}
    whole = pipeline(tower.model(), (inputs[: tower.input_shape[0]],), split_spec=points)
    made: list[BatchRun] = []
    for name in pipelines:
        stage = whole.build_stage(rank, torch.device("cpu"))
        schedule = SCHEDULES[name](stage, micro_batches, loss_fn=loss_of)
        optimizer = optimizer_of(stage.submod.parameters())
        given: dict[str, Any] = {"target": targets} if stage.is_last else {}
        arguments = (inputs,) if stage.is_first else ()
        made.append(partial(_batch, partial(schedule.step, *arguments, **given), optimizer))
    return made


def _batch(passes: Callable[[], object], optimizer: torch.optim.Optimizer) -> None:
    passes()
    optimizer.step()
    optimizer.zero_grad()


def _alone(rank: int, tower: Tower, micro_batches: int) -> BatchRun:
    """The first process trains all micro-batches of a batch as one stage; the others have nothing to do."""
    if rank:
        return lambda: None
    inputs, targets = tower.batch(micro_batches)
    model = pipeline(tower.model(), (inputs[: tower.input_shape[0]],)).get_stage_module(0)

    def passes() -> None:
        for some, wanted in zip(inputs.chunk(micro_batches), targets.chunk(micro_batches), strict=True):
            (loss_of(model(some), wanted) / micro_batches).backward()  # type: ignore[no-untyped-call]

    return partial(_batch, passes, optimizer_of(model.parameters()))
