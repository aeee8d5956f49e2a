"""How a policy is trained on many problems: one dataclass, a sentence a field. Free of torch."""

from collections.abc import Mapping
from dataclasses import dataclass

from engine.events import Json
from engine.settings import machine
from engine.settings.fields import number, require_allowed, whole
from engine.settings.making import make_settings

MOST_BATCH_EPISODES = 1024
"""what is seen before each decision of a batch is held in memory"""


@dataclass(frozen=True, slots=True)
class PolicyTrainingSettings:
    """Everything that can be set of the training over a family."""

    seconds: float = number(
        3600.0,
        1e-3,
        1e7,
        "wall time of the training as a whole: teacher, imitation, reinforcement; what is held out comes on top",
    )
    teacher_share: float = number(0.15, 0.0, 0.5, "at most so much of the seconds is the teacher's")
    teacher_seconds: float = number(
        2.0, 1e-3, 1e5, "of the search that finds the placement to be imitated, each graph on each cluster"
    )
    teacher_evaluations: int = whole(0, 0, 100_000_000, "of the same search; 0: as many as its seconds allow")
    imitation_share: float = number(0.1, 0.0, 0.5, "of the seconds, for imitation; the rest is reinforcement")
    imitation_steps: int = whole(
        0, 0, 10_000_000, "updates of imitation; 0: as many as `imitation_share` of the seconds allow"
    )
    reinforcement_batches: int = whole(
        0,
        0,
        10_000_000,
        "batches of reinforcement; 0: as many as the seconds allow. With these two and the teacher's evaluations "
        "the answer depends on no clock",
    )
    imitation_learning_rate: float = number(
        2e-3, 1e-9, 1.0, "Adam's, when imitation begins; falls linearly to `learning_rate_end`"
    )
    learning_rate: float = number(1e-3, 1e-9, 1.0, "Adam's, when reinforcement begins")
    learning_rate_end: float = number(2e-5, 0.0, 1.0, "Adam's, when the training ends; falls linearly")
    gradient_norm: float = number(0.5, 1e-6, 1e6, "the gradient's global norm is clipped to this")
    batch_episodes: int = whole(
        16, 2, MOST_BATCH_EPISODES, "episodes sampled on one graph and cluster with the same weights"
    )
    epochs: int = whole(2, 1, 100, "updates from each of these batches")
    entropy_weight: float = number(
        0.003, 0.0, 1e3, "weight of the entropy bonus when reinforcement begins; falls linearly to 0"
    )
    imitated_gap: float = number(
        0.05,
        0.0,
        1e6,
        "where a batch is on average further behind the best known placement than this share, that is imitated once",
    )
    usual_order_share: float = number(
        0.7,
        0.0,
        1.0,
        "of the batches that visit the groups in their own order; the others draw a topological order an episode",
    )
    varied_share: float = number(
        0.5,
        0.0,
        1.0,
        "of the batches of reinforcement whose problem has varied costs: what is learned then hangs less on the "
        "exact times of a few graphs",
    )
    varied_spread: float = number(
        0.3,
        0.0,
        2.0,
        "deviation of the logarithms of the factors by which the times of each op type, and the links, are "
        "varied; a problem whose step would become too long to be simulated keeps its own costs",
    )
    embedding_width: int = whole(32, 1, 512, "width of a group's embedding")
    hidden_width: int = whole(64, 1, 512, "width of the hidden layers of the shared head")
    message_rounds: int = whole(2, 0, 64, "rounds of message passing in each direction")
    samples: int = whole(16, 0, 4096, "passes sampled on a held-out graph beside the greedy one")
    search_seconds: float = number(10.0, 1e-3, 1e5, "of the search that the held-out graphs are compared with, each")
    search_evaluations: int = whole(0, 0, 100_000_000, "of the same search; 0: as many as its seconds allow")
    checkpoint_seconds: float = machine.checkpoint_seconds(30.0)
    torch_device: str = machine.torch_device("auto")
    torch_threads: int = machine.torch_threads()

    def __post_init__(self) -> None:
        require_allowed(self)


def make_training_settings(settings: Mapping[str, Json]) -> PolicyTrainingSettings:
    """`settings` over the defaults. Raises SettingsError."""
    return make_settings("training", PolicyTrainingSettings, settings)
