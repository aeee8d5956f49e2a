"""What a measurement depends on beside the graph: this machine's processors and its TensorFlow."""

import os
import platform
from importlib.metadata import packages_distributions, version
from pathlib import Path

from engine.clusters.calibration import Calibration


def machine_words() -> str:
    """The processors of this machine, as a calibration names them."""
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    named = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    return f"{os.cpu_count()} × {named}"


def tensorflow_version() -> str:
    """The version of the installed package of TensorFlow, which is not loaded; empty without one."""
    return " and ".join(sorted(version(name) for name in packages_distributions().get("tensorflow", ())))


def is_of_this_machine(calibration: Calibration) -> bool:
    """Whether the processors of `calibration` are this machine's; those of GPUs come after the GPUs' names."""
    return f", {calibration.machine}".endswith(f", {machine_words()}")


def notes_on_machine(calibration: Calibration | None) -> list[str]:
    """A sentence for people where a cluster was calibrated on another machine."""
    if calibration is None or is_of_this_machine(calibration):
        return []
    return [
        f"The simulated steps are those of another machine, {calibration.machine}; this one is {machine_words()}: "
        "calibrate it to compare with its own."
    ]
