"""Settings of a policy's training on many problems, with a sentence a field. Does not load torch."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from engine.events import Json
from engine.policies.drawn.shapes import LIKE_A_FAMILY
from engine.settings import machine
from engine.settings.fields import choice, number, require_allowed, whole
from engine.settings.making import make_settings

MOST_BATCH_EPISODES = 1024
"""bounds the memory for the views of all decisions of a batch"""
MOST_LEARNERS = 64


@dataclass(frozen=True, slots=True)
class PolicyTrainingSettings:
    """Settings of the training of a policy over many graphs."""

    seconds: float = number(
        3600.0,
        1e-3,
        1e7,
        "wall time of the whole training: teacher, imitation and reinforcement; held-out graphs come on top",
    )
    teacher_share: float = number(0.15, 0.0, 0.5, "largest share of the seconds for the teacher")
    teacher_seconds: float = number(
        2.0, 1e-3, 1e5, "seconds of the teacher's search for a placement to imitate, for each graph on each cluster"
    )
    teacher_evaluations: int = whole(
        0, 0, 100_000_000, "evaluations of the teacher's search; 0: as many as its seconds allow"
    )
    imitation_share: float = number(0.1, 0.0, 0.5, "share of the seconds for imitation; reinforcement gets the rest")
    imitation_steps: int = whole(
        0, 0, 10_000_000, "updates of imitation; 0: as many as `imitation_share` of the seconds allow"
    )
    reinforcement_batches: int = whole(
        0,
        0,
        10_000_000,
        "batches of reinforcement; 0: as many as the seconds allow. If this, imitation_steps and teacher_evaluations "
        "are all above 0, the result depends on no clock",
    )
    imitation_learning_rate: float = number(
        2e-3, 1e-9, 1.0, "learning rate of Adam when imitation begins; falls linearly to `learning_rate_end`"
    )
    learning_rate: float = number(1e-3, 1e-9, 1.0, "learning rate of Adam when reinforcement begins")
    learning_rate_end: float = number(
        2e-5, 0.0, 1.0, "learning rate of Adam when the training ends; falls linearly to this"
    )
    gradient_norm: float = number(0.5, 1e-6, 1e6, "the gradient's global norm is clipped to this")
    batch_episodes: int = whole(
        16, 2, MOST_BATCH_EPISODES, "episodes sampled on one graph and cluster with the same weights"
    )
    epochs: int = whole(2, 1, 100, "updates from each of these batches")
    entropy_weight: float = number(
        0.003, 0.0, 1e3, "weight of the entropy bonus when reinforcement begins; falls linearly to 0"
    )
    sampled_share_end: float = number(
        1.0,
        0.01,
        1.0,
        "share of a batch's decisions that are drawn late in reinforcement, 1 at its start; the others take the most "
        "probable device, so that a batch tells more of each that is drawn",
    )
    imitated_gap: float = number(
        0.05,
        0.0,
        1e6,
        "mean relative gap of a batch to the best known placement above which that placement is imitated once",
    )
    usual_order_share: float = number(
        0.7,
        0.0,
        1.0,
        "share of batches that visit the groups in their own order; in the others each episode draws a topological "
        "order",
    )
    varied_share: float = number(
        0.5,
        0.0,
        1.0,
        "share of the batches of reinforcement whose problem has varied costs, so that the policy depends less on the "
        "exact times of a few graphs",
    )
    varied_spread: float = number(
        0.3,
        0.0,
        2.0,
        "deviation of the logarithms of the factors by which the times of each op type, and the links, are "
        "varied; a problem whose step would become too long to be simulated keeps its own costs",
    )
    drawn: int = whole(
        0,
        0,
        4096,
        "problems drawn at random that take part beside the graphs given: networks of many shapes on clusters of many "
        "kinds; 0: none",
    )
    drawn_share: float = number(
        0.5, 0.0, 1.0, "share of the steps of imitation and of the batches of reinforcement on drawn problems"
    )
    drawn_on_given: float = number(
        0.0,
        0.0,
        1.0,
        "share of the drawn problems that are on the graphs given, on clusters drawn for them; the others are on drawn "
        "networks",
    )
    drawn_uses: int = whole(
        16, 1, 1_000_000, "steps and batches on a drawn problem, after which a fresh one takes its place"
    )
    drawn_teacher_evaluations: int = whole(
        2000, 1, 1_000_000, "evaluations of the search for a placement of a drawn problem to imitate"
    )
    drawn_without: str = choice(
        ("", *LIKE_A_FAMILY), "a family: shapes of networks that are like it are not drawn; empty: all are"
    )
    learners: int = whole(
        1,
        1,
        MOST_LEARNERS,
        "learners side by side, each in a process with its share of the graphs; their weights are averaged. Best is "
        "one for each idle processor",
    )
    graphs_together: int = whole(
        1,
        1,
        1024,
        "batches of reinforcement that are decided together, each on its own graph and cluster, and learned from in "
        "one update; on the CPU in as many threads as torch_threads, on a GPU in lockstep",
    )
    embedding_width: int = whole(32, 1, 512, "width of a group's embedding")
    hidden_width: int = whole(64, 1, 512, "width of the hidden layers of the shared head")
    message_rounds: int = whole(2, 0, 64, "rounds of message passing in each direction")
    samples: int = whole(16, 0, 4096, "passes sampled on a held-out graph beside the greedy one")
    search_seconds: float = number(
        10.0, 1e-3, 1e5, "seconds of the search with which the policy is compared, for each held-out graph"
    )
    search_evaluations: int = whole(0, 0, 100_000_000, "evaluations of that search; 0: as many as its seconds allow")
    checkpoint_seconds: float = machine.checkpoint_seconds(30.0)
    torch_device: str = machine.torch_device("auto")
    torch_threads: int = machine.torch_threads()

    def __post_init__(self) -> None:
        require_allowed(self)


def make_training_settings(settings: Mapping[str, Json]) -> PolicyTrainingSettings:
    """Make settings from `settings`, with defaults for the rest. Raises SettingsError."""
    return make_settings("training", PolicyTrainingSettings, settings)


@dataclass(frozen=True, slots=True)
class ChangedSetting:
    """A setting of a training that is not as usual, in words."""

    name: str
    value: str
    usual: str
    """the default; empty where this version has no such setting"""


def changed_settings(training: Mapping[str, Json]) -> list[ChangedSetting]:
    """What differs from the defaults in the settings on a card, perhaps of a version with other settings."""
    usual = asdict(PolicyTrainingSettings())
    changed = [(name, value) for name, value in training.items() if name not in usual or value != usual[name]]
    return [
        ChangedSetting(name, _words(value), _words(usual[name]) if name in usual else "") for name, value in changed
    ]


def _words(value: Json) -> str:
    """As `--set` takes it; `empty` for an empty text."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value).removesuffix(".0") if isinstance(value, int | float) else str(value) or "empty"
