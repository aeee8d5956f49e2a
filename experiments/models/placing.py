"""Writes random placements of a SavedModel of the suite and runs them beside the unplaced graph.

For child processes only: it runs the graph on virtual CPU devices, soft placement off.
"""

from pathlib import Path

from engine.events import Json
from experiments.models.registry import MODELS

DEVICES = (2, 3)
"""numbers of devices, a placement for each"""
TOLERANCE, HALF_TOLERANCE = 1e-5, 1e-2
"""of numbers, and of numbers in half precision"""
KEYS = (
    "executed",
    "placements",
    "compared",
    "mismatches",
    "numbers",
    "not_finite",
    "unequal",
    "moved",
    "far",
    "changed",
)
"""the counts of `placed.checks.PlacementChecks` that a row keeps"""


def counts_of(name: str, path: Path, folder: Path) -> dict[str, Json]:
    """The counts over the placements of one model; runs in this process, which is a child."""
    from experiments.placed.checks import PlacedGraph, try_random_placements
    from experiments.placed.samples import opened_here, unplaced
    from experiments.placed.step import PlacedStep

    model = MODELS[name]
    source, fetches = opened_here(path, folder / "opened")
    step = PlacedStep(fetches, feeds=model.fed())
    tolerance = HALF_TOLERANCE if model.half else TOLERANCE
    placed = PlacedGraph(source, step, max(DEVICES), folder, unplaced(path), tolerance)
    for devices in DEVICES:
        try_random_placements(placed, devices, [devices])
    found = placed.found.to_json()
    return {**{key: found[key] for key in KEYS}, "examples": found["examples"]}
