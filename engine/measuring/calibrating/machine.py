"""Calibrates this machine, whatever it has: its GPUs, or without any its processors."""

from engine.child.parent import Pulse, ReportProgress, no_progress, no_pulse
from engine.clusters.cluster import Cluster
from engine.errors import SettingsError
from engine.measuring.calibrating.calibration import calibrate_processors
from engine.measuring.calibrating.gpu import calibrate_gpus, gpus_here

DEVICES = ("auto", "cpu", "cuda")


def calibrate(
    report_progress: ReportProgress = no_progress, *, device: str = "auto", rounds: int = 5, pulse: Pulse = no_pulse
) -> Cluster:
    """This machine as a cluster, with the measured figures in its `calibration`.

    `device`: `cuda`, its GPUs and their host; `cpu`, two processes of its processors; `auto`, the GPUs if torch can use
    one. `pulse` is called several times a second; what it raises ends the work. Raises SettingsError where there is no
    such device, and as `calibrate_processors` does.
    """
    if device not in DEVICES:
        raise SettingsError(device, where="device", allowed=", ".join(DEVICES), field="device")
    if device == "cuda" or (device == "auto" and gpus_here()):
        return calibrate_gpus(report_progress, rounds=rounds, pulse=pulse)
    return calibrate_processors(report_progress, rounds=rounds, pulse=pulse)
