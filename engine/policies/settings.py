"""How a policy is trained on many problems: one dataclass, a sentence a field. Free of torch."""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass

from engine.errors import SettingsError
from engine.events import Json


@dataclass(frozen=True, slots=True)
class PolicyTrainingSettings:
    """Everything that can be set of the training over a family."""

    seconds: float = 3600.0
    """wall time of the training as a whole: teacher, imitation, reinforcement; what is held out comes on top"""
    imitation_steps: int = 0
    """updates of imitation; 0: as many as `imitation_share` of the seconds allow"""
    reinforcement_batches: int = 0
    """batches of reinforcement; 0: as many as the seconds allow. With both counts the answer depends on no clock"""
    embedding_width: int = 32
    """width of a group's embedding"""
    hidden_width: int = 32
    """width of the hidden layers of the shared head"""
    message_rounds: int = 2
    """rounds of message passing in each direction"""
    samples: int = 16
    """passes sampled on a held-out graph beside the greedy one"""
    search_seconds: float = 10.0
    """of the search that the held-out graphs are compared with, each"""
    search_evaluations: int = 0
    """of the same search; 0: as many as its seconds allow"""
    checkpoint_seconds: float = 30.0
    """least time between two states kept for going on after an interruption"""
    torch_device: str = "auto"
    """where the network runs: `auto` (CUDA where there is one), `cpu` or `cuda`"""
    torch_threads: int = 1
    """threads of torch on the CPU; the same answer needs the same number"""

    def __post_init__(self) -> None:
        for name, (lowest, highest) in _WHOLE.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
                raise _refused(name, value, f"a whole number from {lowest} to {highest}")
        for name, (lowest_number, highest_number) in _NUMBERS.items():
            value = getattr(self, name)
            number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            if not (number and lowest_number <= value <= highest_number):
                raise _refused(name, value, f"a number from {lowest_number:g} to {highest_number:g}")
        if self.torch_device not in _TORCH_DEVICES:
            raise _refused("torch_device", self.torch_device, ", ".join(_TORCH_DEVICES))


_TORCH_DEVICES = ("auto", "cpu", "cuda")
_WHOLE: dict[str, tuple[int, int]] = {
    "imitation_steps": (0, 10_000_000),
    "reinforcement_batches": (0, 10_000_000),
    "embedding_width": (1, 1024),
    "hidden_width": (1, 1024),
    "message_rounds": (0, 64),
    "samples": (0, 4096),
    "search_evaluations": (0, 100_000_000),
    "torch_threads": (1, 256),
}
_NUMBERS: dict[str, tuple[float, float]] = {
    "seconds": (1e-3, 1e7),
    "search_seconds": (1e-3, 1e5),
    "checkpoint_seconds": (0.0, 3600.0),
}


def make_training_settings(settings: Mapping[str, Json]) -> PolicyTrainingSettings:
    """`settings` over the defaults. Raises SettingsError."""
    known = [field.name for field in dataclasses.fields(PolicyTrainingSettings)]
    for name in settings:
        if name not in known:
            raise SettingsError(
                f"training has no setting {name!r}", where="settings", allowed=", ".join(known), field="settings"
            )
    return PolicyTrainingSettings(**settings)  # type: ignore[arg-type]  # the dataclass checks its values itself


def _refused(name: str, value: object, allowed: str) -> SettingsError:
    return SettingsError(f"{value!r}", where=name, allowed=allowed, field=name)
