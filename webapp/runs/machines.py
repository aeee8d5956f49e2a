"""Measured machines as choices of a form: this machine, and those of workers on other hosts, each as a whole."""

from dataclasses import dataclass

from engine import api
from webapp.workers.machine_file import MeasuredMachine
from webapp.workers.machine_offer import worker_machines

OWN_CHOICE = "this-machine"
"""what a person writes for it; no device kind has such a name, nor one with a space, as other machines have"""
OTHER_MACHINE = "Machine "
"""the beginning of what a person writes for a machine of another host"""


@dataclass(frozen=True, slots=True)
class MachineChoice:
    """A machine that a form offers."""

    label: str
    cluster: api.Cluster

    @property
    def words(self) -> str:
        """`this machine, 2 × a processor, measured 2026-01-31`."""
        assert self.cluster.calibration is not None
        measured = self.cluster.calibration
        return f"{self.label[:1].lower()}{self.label[1:]}, {measured.machine}, measured {measured.date}"


def machine_choices(own: MeasuredMachine) -> dict[str, MachineChoice]:
    """What a person writes → the machine: `own`, this machine, if it has been measured, then those of other hosts."""
    choices = {} if own.cluster is None else {OWN_CHOICE: MachineChoice("This machine", own.cluster)}
    others = ((f"{OTHER_MACHINE}{offer.host}", offer.machine.cluster) for offer in worker_machines(own))
    return choices | {label: MachineChoice(label, cluster) for label, cluster in others if cluster is not None}
