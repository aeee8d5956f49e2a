"""Settings of the sequence placers, with a sentence a field and presets. Does not load torch."""

from dataclasses import dataclass

from engine.settings import learners, machine
from engine.settings.fields import choice, number, require_allowed, switch, whole


@dataclass(frozen=True, slots=True)
class RnnSettings:
    """Settings of the RNN. The defaults are the preset `fast`; `paper` is the published form, named in brackets.

    Source of the published values: Mirhoseini et al. 2017, section 3, and, where that is silent, the hyperparameters
    of TensorFlow's `grappler/hierarchical_controller.py`, the authors' public code.
    """

    preset: str = choice(("fast", "paper"), "the preset that these settings started from: `fast` or `paper`")
    hidden_width: int = whole(
        64,
        2,
        4096,
        "width of the decoder's state; each direction of the encoder has half of it, so it is even (published: 512)",
        multiple_of=2,
        paper=512,
    )
    temperature: float = number(1.0, 1e-3, 1e3, "divides the devices' scores (published: 1)")
    tanh_constant: float = number(
        2.0,
        0.0,
        1e3,
        "bounds the devices' scores: tanh(score) times this, which limits the probability of one of two devices to "
        "0.98 (published: 1, which limits it to 0.88); 0 for no bound",
        paper=1.0,
    )
    noise: float = number(
        0.5,
        0.0,
        100.0,
        "standard deviation of the noise on the scores, in root mean squares of the scores (published: 0.5)",
    )
    noise_updates: int = whole(750, 0, 10**9, "updates after which the noise stops (published: 750)")
    batch_episodes: int = whole(
        8, 1, 4096, "placements sampled with the same weights, one update each batch (published: 4 to 8 workers)"
    )
    learning_rate: float = number(
        3e-3, 1e-9, 1.0, "learning rate of Adam at the start (published code: 0.1)", paper=0.1
    )
    learning_rate_decay: float = number(
        0.95, 1e-3, 1.0, "factor on the learning rate at each step of its decay (published: 0.95)"
    )
    decay_start_updates: int = whole(400, 0, 10**9, "updates before the learning rate begins to fall (published: 400)")
    decay_every_updates: int = whole(50, 1, 10**9, "updates between two steps of its decay (published: 50)")
    gradient_norm: float = number(1.0, 1e-6, 1e6, "the gradient's global norm is clipped to this (published: 1)")
    baseline_decay: float = number(
        0.9, 0.0, 1.0, "weight of the old baseline in the moving average of the rewards (published: 0.9)"
    )
    baseline_starts_failed: bool = switch(
        False,
        "whether the baseline starts at the reward of a failed placement (published: true) or at the first "
        "batch's mean",
        paper=True,
    )
    reward_unit: str = choice(
        ("reference", "second"),
        "the unit of a step time t in the reward √t: `second` (published), or `reference`, the step time on the "
        "fastest single device without transfers",
        paper="second",
    )
    failed_time: float = number(
        10.0,
        1e-6,
        1e6,
        "step time, in reward units, that a placement without enough memory counts as (published: 100 seconds)",
        paper=100.0,
    )
    normalise_advantages: bool = switch(
        True,
        "whether a batch's advantages are divided by their root mean square, but by no less than 0.01, so that "
        "placements that are nearly alike teach little (published: false)",
        paper=False,
    )
    entropy_weight: float = number(
        6.0,
        0.0,
        1e3,
        "weight at the start of the mean entropy of a group's choices, a bonus that keeps the policy from settling "
        "too soon (published: 0)",
        paper=0.0,
    )
    entropy_weight_end: float = number(
        3.0,
        0.0,
        1e3,
        "weight of the entropy when the budget is spent; it falls linearly to this (published: 0)",
        paper=0.0,
    )
    learn_failed_updates: int = whole(
        1000, 0, 10**9, "updates after which failed placements no longer count (published code: 1,000)"
    )
    prior: str = learners.prior()
    frozen: bool = learners.frozen()
    torch_device: str = machine.torch_device("cpu")
    torch_threads: int = machine.torch_threads()
    checkpoint_seconds: float = machine.checkpoint_seconds(30.0)

    def __post_init__(self) -> None:
        require_allowed(self)


@dataclass(frozen=True, slots=True)
class HierarchicalSettings(RnnSettings):
    """Settings of the hierarchical placer: those of the RNN, and the grouper's.

    Source of the published values: Mirhoseini et al. 2018, section 3, and the public code named above.
    """

    grouper_width: int = whole(64, 1, 4096, "width of the grouper's hidden layer (published: 64)")
    grouper_gain: float = number(
        10.0,
        0.0,
        1e3,
        "factor on Glorot's scale for the grouper's last weights at the start: a grouper that scatters the groups "
        "anew in each draw teaches its placer nothing (published code: 1)",
        paper=1.0,
    )
    super_groups: int = whole(
        0, 0, 4096, "most super-groups that the grouper may use; 0 for 20 a device, at most 256 (published)"
    )
