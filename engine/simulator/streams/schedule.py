"""The order in which each device takes its blocks: the stages of its micro-batches.

With levels of stages, each order is that of a wave that goes through the pipeline, in which a device takes at one time
what comes first. So it never waits for a block that comes after it, whatever the placement:

- `inference`: by level + micro-batch;
- `gpipe`: likewise, all of the forward pass before all of the backward pass;
- `1f1b`: by level + 2 · micro-batch: with one stage a device and pass this is the published order, in which a device
  begins as many forward passes as there are stages behind it, itself included, before its first backward pass;
- `interleaved`: where each device has the same number of stages, in turns, and the devices divide the micro-batches,
  the published order; else that of `1f1b`, which is said.

Sources: Huang et al.: GPipe, NeurIPS 2019; Narayanan et al.: PipeDream, SOSP 2019, section 3.2; Narayanan et al.:
Efficient large-scale language model training on GPU clusters using Megatron-LM, SC 2021, section 2.2.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.simulator.streams.stages import Stages
from engine.simulator.streams.stream import Pipeline, Stream

NOT_IN_TURNS = "interleaved needs as many stages on each device, in turns, and micro-batches that the devices divide"


@dataclass(frozen=True, slots=True)
class Schedule:
    """The blocks of a batch, device by device, in the order in which each takes them."""

    device: NDArray[np.int64]
    """[blocks] ascending"""
    stage: NDArray[np.int64]
    """[blocks]"""
    micro: NDArray[np.int64]
    """[blocks]"""
    note: str = ""
    """why it is another order than that which was asked for, or an empty string"""


def schedule_of(stages: Stages, stream: Stream, devices: NDArray[np.int64] | None = None) -> Schedule:
    """The blocks of a batch of `stream` in the order of its pipeline.

    `devices` [routes, stages]: the device of each stage on each route (routes.py); None: that of `stages` on all.
    """
    on_routes = stages.device[np.newaxis] if devices is None else devices
    if stream.pipeline is Pipeline.INTERLEAVED:
        in_turns = _in_turns(stages, stream.micro_batches) if len(on_routes) == 1 else None
        return in_turns if in_turns is not None else _by_waves(stages, stream, on_routes, NOT_IN_TURNS)
    return _by_waves(stages, stream, on_routes, "")


def _by_waves(stages: Stages, stream: Stream, devices: NDArray[np.int64], note: str) -> Schedule:
    stage = np.repeat(np.arange(len(stages)), stream.micro_batches)
    micro = np.tile(np.arange(stream.micro_batches), len(stages))
    device = devices[micro % len(devices), stage]
    pace = 2 if stream.pipeline in (Pipeline.ONE_F_ONE_B, Pipeline.INTERLEAVED) else 1
    wave = stages.level[stage] + pace * micro
    passes = stages.is_backward[stage] if stream.pipeline is Pipeline.GPIPE else np.zeros(len(stage), dtype=bool)
    order = np.lexsort((micro, wave, passes, device))
    return Schedule(device[order], stage[order], micro[order], note)


def _in_turns(stages: Stages, micro_batches: int) -> Schedule | None:
    """The published interleaved order; None where the stages are not in turns."""
    forward, backward = np.flatnonzero(~stages.is_backward), np.flatnonzero(stages.is_backward)
    ranks = stages.device[forward]
    width = len(np.unique(ranks))
    is_in_turns = (
        len(forward) == len(backward)
        and len(forward) % width == 0
        and micro_batches % width == 0
        and np.array_equal(ranks, np.tile(ranks[:width], len(forward) // width))
        and np.array_equal(stages.device[backward], ranks[::-1])
    )
    if not is_in_turns:
        return None
    chunks, blocks = len(forward) // width, []
    for rank in range(width):
        ahead = [(int(forward[chunk * width + rank]), micro) for chunk, micro in _turns(chunks, width, micro_batches)]
        own = backward[::-1]  # the backward stage of each forward stage
        back = [(int(own[chunk * width + rank]), micro) for chunk, micro in _turns(chunks, width, micro_batches, -1)]
        first = min(len(ahead), 2 * (width - rank - 1) + (chunks - 1) * width)
        middle = [block for pair in zip(ahead[first:], back, strict=False) for block in pair]
        blocks += [*ahead[:first], *middle, *back[len(ahead) - first :]]
    stage, micro = np.array(blocks, dtype=np.int64).T
    order = np.argsort(stages.device[stage], kind="stable")
    return Schedule(stages.device[stage][order], stage[order], micro[order])


def _turns(chunks: int, width: int, micro_batches: int, step: int = 1) -> list[tuple[int, int]]:
    """(chunk, micro-batch) in the order of one pass: a chunk takes as many micro-batches as there are devices."""
    return [
        (chunk, first + index)
        for first in range(0, micro_batches, width)
        for chunk in range(chunks)[::step]
        for index in range(width)
    ]
