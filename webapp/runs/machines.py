"""Measured machines as choices of a form: this machine, and those of workers on other hosts, each as a whole."""

from dataclasses import dataclass

from engine import api
from webapp.workers.machine_file import MeasuredMachine
from webapp.workers.machine_offer import worker_machines

OWN_CHOICE = "this-machine"
"""value of the option; no device kind has such a name, nor one with a space, as other machines' options have"""


@dataclass(frozen=True, slots=True)
class MachineChoice:
    """A machine that a form offers."""

    label: str
    cluster: api.Cluster

    @property
    def attributes(self) -> dict[str, object]:
        """What the page's scripts know of it: it is a whole cluster, in these words."""
        assert self.cluster.calibration is not None
        device, measured = self.cluster.devices[0], self.cluster.calibration
        name = self.label[:1].lower() + self.label[1:]
        return {
            "data-whole": f"{name}, {measured.machine}, measured {measured.date}",
            "data-memory-bytes": device.memory_bytes,
            "data-class": device.device_class,
        }


def machine_choices(own: MeasuredMachine) -> dict[str, MachineChoice]:
    """Value of an option → its machine: `own`, this machine, if it has been measured, then those of other hosts."""
    choices = {} if own.cluster is None else {OWN_CHOICE: MachineChoice("This machine", own.cluster)}
    others = ((f"Machine {offer.host}", offer.machine.cluster) for offer in worker_machines(own))
    return choices | {label: MachineChoice(label, cluster) for label, cluster in others if cluster is not None}
