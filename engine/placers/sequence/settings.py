"""Settings of the sequence placers: a sentence a field, presets by name. Free of torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from engine.events import Json
from engine.settings.ranges import refused, require_choices, require_fields, require_ranges, require_switches


@dataclass(frozen=True, slots=True)
class RnnSettings:
    """What can be set. The defaults are the preset `fast`; `paper` is the published form, named in brackets.

    Source of the published values: Mirhoseini et al. 2017, section 3, and, where that is silent, the hyperparameters
    of TensorFlow's `grappler/hierarchical_controller.py`, the authors' public code.
    """

    preset: str = "fast"
    """the preset that these settings started from: `fast` or `paper`"""
    hidden_width: int = 64
    """width of the decoder's state; each direction of the encoder has half of it, so it is even (published: 512)"""
    temperature: float = 1.0
    """divides the devices' scores (published: 1)"""
    tanh_constant: float = 5.0
    """bounds the devices' scores: tanh(score) times this (published: 1, so that of two devices neither is ever chosen
    with a probability above 0.88); 0 for no bound"""
    noise: float = 0.0
    """deviation of the noise on the scores while it lasts, in root mean squares of the scores (published: 0.5)"""
    noise_updates: int = 750
    """updates after which the noise stops (published: 750)"""
    batch_episodes: int = 8
    """placements sampled with the same weights, one update each batch (published: 4 to 8 workers)"""
    learning_rate: float = 3e-3
    """Adam's, at the start (published code: 0.1)"""
    learning_rate_decay: float = 0.95
    """factor on the learning rate at each step of its decay (published: 0.95)"""
    decay_start_updates: int = 400
    """updates before the learning rate begins to fall (published: 400)"""
    decay_every_updates: int = 50
    """updates between two steps of its decay (published: 50)"""
    gradient_norm: float = 1.0
    """the gradient's global norm is clipped to this (published: 1)"""
    baseline_decay: float = 0.9
    """weight of the old baseline in the moving average of the rewards (published: 0.9)"""
    baseline_starts_failed: bool = False
    """whether the baseline starts at the reward of a failed placement (published: true) or at the first batch's mean"""
    reward_unit: str = "reference"
    """the unit of a step time t in the reward √t: `second` (published), or `reference`, the step time on the fastest
    single device without transfers"""
    failed_time: float = 10.0
    """step time, in reward units, at which a placement that lacks memory counts (published: 100 seconds)"""
    normalise_advantages: bool = True
    """whether a batch's advantages are divided by their root mean square (published: false)"""
    entropy_weight: float = 6.0
    """weight of the devices' mean entropy at the start, a bonus against settling too soon; falls linearly to 0 as the
    budget is spent (published: 0)"""
    learn_failed_updates: int = 1000
    """updates after which failed placements no longer count (published code: 1,000)"""
    torch_device: str = "cpu"
    """where the network runs: `cpu`, `cuda`, or `auto` (CUDA where there is one)"""
    torch_threads: int = 1
    """threads of torch on the CPU; the same answer needs the same number"""

    def __post_init__(self) -> None:
        require_choices(self, _CHOICES)
        require_switches(self, _SWITCHES)
        require_ranges(self, _WHOLE, _NUMBERS)
        if self.hidden_width % 2:
            raise refused("hidden_width", self.hidden_width, "an even number")


@dataclass(frozen=True, slots=True)
class HierarchicalSettings(RnnSettings):
    """Those of the RNN and the grouper's.

    Source of the published values: Mirhoseini et al. 2018, section 3, and the public code named above.
    """

    grouper_width: int = 64
    """width of the grouper's hidden layer (published: 64)"""
    grouper_gain: float = 30.0
    """how much larger than Glorot's the grouper's last weights begin: a grouper that draws anew each time where every
    group goes teaches its placer nothing (published code: 1)"""
    super_groups: int = 0
    """the most super-groups, as many as the grouper may use; 0 for 20 a device, at most 256 (published)"""

    def __post_init__(self) -> None:
        RnnSettings.__post_init__(self)
        require_ranges(self, _GROUPER_WHOLE, _GROUPER_NUMBERS)


_CHOICES: dict[str, tuple[str, ...]] = {
    "preset": ("fast", "paper"),
    "reward_unit": ("reference", "second"),
    "torch_device": ("cpu", "auto", "cuda"),
}
_SWITCHES = ("baseline_starts_failed", "normalise_advantages")
_WHOLE: dict[str, tuple[int, int]] = {
    "hidden_width": (2, 4096),
    "noise_updates": (0, 10**9),
    "batch_episodes": (1, 4096),
    "decay_start_updates": (0, 10**9),
    "decay_every_updates": (1, 10**9),
    "learn_failed_updates": (0, 10**9),
    "torch_threads": (1, 256),
}
_GROUPER_WHOLE: dict[str, tuple[int, int]] = {"grouper_width": (1, 4096), "super_groups": (0, 4096)}
_NUMBERS: dict[str, tuple[float, float]] = {
    "temperature": (1e-3, 1e3),
    "tanh_constant": (0.0, 1e3),
    "noise": (0.0, 100.0),
    "learning_rate": (1e-9, 1.0),
    "learning_rate_decay": (1e-3, 1.0),
    "gradient_norm": (1e-6, 1e6),
    "baseline_decay": (0.0, 1.0),
    "entropy_weight": (0.0, 1e3),
    "failed_time": (1e-6, 1e6),
}
_GROUPER_NUMBERS: dict[str, tuple[float, float]] = {"grouper_gain": (0.0, 1e3)}

_PAPER: dict[str, Json] = {
    "hidden_width": 512,
    "tanh_constant": 1.0,
    "noise": 0.5,
    "learning_rate": 0.1,
    "baseline_starts_failed": True,
    "reward_unit": "second",
    "failed_time": 100.0,
    "entropy_weight": 0.0,
    "normalise_advantages": False,
}
PRESETS: dict[str, dict[str, Json]] = {"fast": {}, "paper": _PAPER}
"""what each preset changes"""
_HIERARCHICAL_PAPER: dict[str, Json] = {"grouper_gain": 1.0}
"""and beyond that in `HierarchicalSettings`"""

Settings = TypeVar("Settings", bound=RnnSettings)


def make_settings(method: str, kind: type[Settings], given: Mapping[str, Json]) -> Settings:
    """`given` over the preset that it names (`fast` if none). Raises SettingsError."""
    require_fields(method, kind, given)
    preset = given.get("preset", "fast")
    if not isinstance(preset, str) or preset not in PRESETS:
        raise refused("preset", preset, ", ".join(PRESETS))
    beyond = _HIERARCHICAL_PAPER if preset == "paper" and kind is HierarchicalSettings else {}
    values = {"preset": preset} | PRESETS[preset] | beyond | dict(given)
    return kind(**values)  # type: ignore[arg-type]  # the dataclass checks its values itself
