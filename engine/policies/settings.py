"""How a policy is trained on many problems: one dataclass, a sentence a field. Free of torch."""

from collections.abc import Mapping
from dataclasses import dataclass

from engine.events import Json
from engine.settings.ranges import require_choices, require_fields, require_ranges


@dataclass(frozen=True, slots=True)
class PolicyTrainingSettings:
    """Everything that can be set of the training over a family."""

    seconds: float = 3600.0
    """wall time of the training as a whole: teacher, imitation, reinforcement; what is held out comes on top"""
    teacher_share: float = 0.15
    """at most so much of the seconds is the teacher's"""
    teacher_seconds: float = 2.0
    """of the search that finds the placement to be imitated, each graph on each cluster"""
    teacher_evaluations: int = 0
    """of the same search; 0: as many as its seconds allow"""
    imitation_share: float = 0.1
    """of the seconds, for imitation; the rest is reinforcement"""
    imitation_steps: int = 0
    """updates of imitation; 0: as many as `imitation_share` of the seconds allow"""
    reinforcement_batches: int = 0
    """batches of reinforcement; 0: as many as the seconds allow. With these two and the
    teacher's evaluations the answer depends on no clock"""
    imitation_learning_rate: float = 2e-3
    """Adam's, when imitation begins; falls linearly to `learning_rate_end`"""
    learning_rate: float = 1e-3
    """Adam's, when reinforcement begins"""
    learning_rate_end: float = 2e-5
    """Adam's, when the training ends; falls linearly"""
    gradient_norm: float = 0.5
    """the gradient's global norm is clipped to this"""
    batch_episodes: int = 16
    """episodes sampled on one graph and cluster with the same weights"""
    epochs: int = 2
    """updates from each of these batches"""
    entropy_weight: float = 0.003
    """weight of the entropy bonus when reinforcement begins; falls linearly to 0"""
    imitated_gap: float = 0.05
    """where a batch is on average further behind the best known placement than this share, that is imitated once"""
    usual_order_share: float = 0.7
    """of the batches that visit the groups in their own order; the others draw a topological order an episode"""
    varied_share: float = 0.5
    """of the batches of reinforcement whose problem has varied costs: what is learned then hangs less on the exact
    times of a few graphs"""
    varied_spread: float = 0.3
    """deviation of the logarithms of the factors by which the times of each op type, and the links, are varied;
    a problem whose step would become too long to be simulated keeps its own costs"""
    embedding_width: int = 32
    """width of a group's embedding"""
    hidden_width: int = 64
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
        require_ranges(self, _WHOLE, _NUMBERS)
        require_choices(self, {"torch_device": _TORCH_DEVICES})


MOST_BATCH_EPISODES = 1024
"""what is seen before each decision of a batch is held in memory"""
_TORCH_DEVICES = ("auto", "cpu", "cuda")
_WHOLE: dict[str, tuple[int, int]] = {
    "teacher_evaluations": (0, 100_000_000),
    "imitation_steps": (0, 10_000_000),
    "reinforcement_batches": (0, 10_000_000),
    "embedding_width": (1, 512),
    "hidden_width": (1, 512),
    "message_rounds": (0, 64),
    "batch_episodes": (2, MOST_BATCH_EPISODES),
    "epochs": (1, 100),
    "samples": (0, 4096),
    "search_evaluations": (0, 100_000_000),
    "torch_threads": (1, 256),
}
_NUMBERS: dict[str, tuple[float, float]] = {
    "seconds": (1e-3, 1e7),
    "teacher_share": (0.0, 0.5),
    "teacher_seconds": (1e-3, 1e5),
    "imitation_share": (0.0, 0.5),
    "imitation_learning_rate": (1e-9, 1.0),
    "learning_rate": (1e-9, 1.0),
    "learning_rate_end": (0.0, 1.0),
    "gradient_norm": (1e-6, 1e6),
    "entropy_weight": (0.0, 1e3),
    "imitated_gap": (0.0, 1e6),
    "usual_order_share": (0.0, 1.0),
    "varied_share": (0.0, 1.0),
    "varied_spread": (0.0, 2.0),
    "search_seconds": (1e-3, 1e5),
    "checkpoint_seconds": (0.0, 3600.0),
}


def make_training_settings(settings: Mapping[str, Json]) -> PolicyTrainingSettings:
    """`settings` over the defaults. Raises SettingsError."""
    require_fields("training", PolicyTrainingSettings, settings)
    return PolicyTrainingSettings(**settings)  # type: ignore[arg-type]  # the dataclass checks its values itself
