"""What `device_map="auto"` and `"sequential"` of Hugging Face give: devices filled by bytes of weights alone.

Source: `get_balanced_memory` and `infer_auto_device_map` of accelerate 1.15. `auto`, the same as `balanced`: each GPU
but the last may take an equal share of all weights and 1.25 times the larger of the largest whole block and a module's
mean; `sequential`: each may take all its memory. The first GPU keeps room for the largest layer that is still to come.
A layer that does not fit goes to the next device, and none goes back.

The weights that fit on no GPU wait in CPU memory, and their ops run on the first GPU, where the graph was read so that
weights may wait.

Deviations: groups take the place of modules, so none is divided further; of a graph read otherwise, what fits on no GPU
runs on a CPU; without a CPU it goes to the last GPU. Where no weights fit on a GPU, accelerate runs all on the CPU, and
this runs all on the first GPU.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.events import ShouldStop
from engine.placers.shipped.layers import WeightedLayers, completed
from engine.problem import PlacementProblem

OVER = 1.25
"""room beside the equal share, in whole blocks"""


@dataclass(frozen=True, slots=True)
class AccelerateAuto:
    """Fills equal shares."""

    def place(self, problem: PlacementProblem, rng: np.random.Generator, should_stop: ShouldStop) -> None:
        layers = WeightedLayers.of(problem)
        room = problem.memory_bytes[layers.devices].astype(np.int64)
        room[:-1] = np.minimum(room[:-1], balanced_bytes(layers, len(room)))
        problem.evaluate_episodes(completed(problem, layers, filled(layers, room))[None, :])


@dataclass(frozen=True, slots=True)
class AccelerateSequential:
    """Fills one device after the other."""

    def place(self, problem: PlacementProblem, rng: np.random.Generator, should_stop: ShouldStop) -> None:
        layers = WeightedLayers.of(problem)
        room = problem.memory_bytes[layers.devices].astype(np.int64)
        problem.evaluate_episodes(completed(problem, layers, filled(layers, room))[None, :])


def balanced_bytes(layers: WeightedLayers, devices: int) -> int:
    """What each GPU but the last may take."""
    blocks = [sum(modules) for modules in layers.modules if len(modules) > 1]
    alone = [size for modules in layers.modules for size in modules]
    mean = sum(alone) // max(len(alone), 1)
    return int(layers.weight_bytes.sum()) // devices + int(OVER * max(max(blocks, default=0), mean))


def filled(layers: WeightedLayers, room_bytes: NDArray[np.int64]) -> NDArray[np.int64]:
    """[layers] the device of each, with `room_bytes` on the devices to fill."""
    sizes = layers.weight_bytes.tolist()
    still_to_come = [*np.maximum.accumulate(layers.weight_bytes[::-1])[::-1].tolist()[1:], 0]
    beyond = int(layers.spare[0] if len(layers.spare) else layers.devices[-1])
    found, place, used = np.full(len(sizes), beyond, dtype=np.int64), 0, 0
    for layer, size in enumerate(sizes):
        while place < len(room_bytes):
            kept = still_to_come[layer] if place == 0 else 0
            if used + size <= room_bytes[place] - kept:
                break
            place, used = place + 1, 0
        if place == len(room_bytes):
            break
        found[layer] = layers.devices[place]
        used += size
    return found
