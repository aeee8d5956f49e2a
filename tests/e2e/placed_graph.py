"""The child's side of running a downloaded graph: virtual CPUs stand in for the GPUs. Used in a child alone."""

from pathlib import Path
from typing import cast

from engine.child.parent import ReportProgress, Results
from engine.events import Json
from experiments.exact_numbers import ask_for_exact_numbers

DEVICES = 2


def run_on_virtual_cpus_in_child(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Run the placed graph with /device:CPU:i for /device:GPU:i, soft placement off, beside the unplaced one.

    `devices` are the devices as they were written; `mismatches` names ops that TensorFlow had elsewhere, and numbers
    that are not the unplaced graph's.
    """
    ask_for_exact_numbers()
    from engine.zoo.training_step import LOSS, STEP
    from experiments.placed.checks import definition_of
    from experiments.placed.step import PlacedStep, mismatches, run_step, unequal_numbers

    placed = definition_of(Path(cast(str, order["placed"])))
    written: list[Json] = sorted({node.device for node in placed.node})
    for node in placed.node:
        node.device = node.device.replace("/device:GPU:", "/device:CPU:")
    step = PlacedStep((STEP, f"{LOSS}:0"))
    ran = run_step(placed, step, DEVICES)
    plain = run_step(definition_of(Path(cast(str, order["plain"]))), step, DEVICES)
    wrong: list[Json] = [list(each) for each in mismatches(placed, ran)]
    wrong += unequal_numbers(plain.numbers, ran.numbers)
    return {}, {"placed": {"mismatches": wrong, "executed_ops": len(ran.executed)}, "devices": written}
