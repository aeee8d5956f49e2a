"""Tries many random placements of one graph of the zoo in one process, with small steps. For child processes only."""

from pathlib import Path

import numpy as np

from engine.child.parent import ReportProgress, no_progress
from engine.graphs.colocation import colocation_classes
from engine.zoo import BUILT_FILE, build_in_child
from engine.zoo.training_step import LOSS, STEP
from experiments.placed.checks import PlacedGraph, PlacementChecks, random_devices
from experiments.placed.step import PlacedStep

STAGE = "placing at random"
REPORTED_EVERY = 100


def try_many_placements(
    name: str, placements: int, devices: int, groups: int, folder: Path, report_progress: ReportProgress
) -> PlacementChecks:
    """Try them; half of the placements have at most `groups` random groups of co-location classes, the others none."""
    build_in_child({"name": name, "settings": {}}, folder, no_progress)
    placed = PlacedGraph(folder / BUILT_FILE, PlacedStep((STEP, f"{LOSS}:0")), devices, folder)
    classes = colocation_classes(placed.graph)
    for seed in range(placements):
        rng = np.random.default_rng(seed)
        group_of_op = classes if seed % 2 else rng.integers(0, groups, int(classes.max()) + 1)[classes]
        _, group_of_op = np.unique(group_of_op, return_inverse=True)
        placed.try_placement(random_devices(placed.graph, group_of_op.astype(np.int32), devices, rng))
        if (seed + 1) % REPORTED_EVERY == 0:
            report_progress(STAGE, seed + 1, placements)
    return placed.found
