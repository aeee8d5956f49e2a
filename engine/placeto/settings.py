"""Placeto's settings: one dataclass with a sentence a field, and two presets. Does not load torch."""

from collections.abc import Mapping
from dataclasses import dataclass

from engine.events import Json
from engine.settings import learners, machine, making
from engine.settings.fields import choice, number, refused, require_allowed, switch, whole

WITH_THE_SHARED_PRIOR: dict[str, Json] = {
    "start": "fastest_device",
    "exploration": 0.0,
    "list_schedule_weight": 0.0,
    "schedules_weight": 0.0,
    "stay_weight": 0.0,
}
"""the defaults where the prior is shared, in place of what the preset `fast` sets by hand"""


@dataclass(frozen=True, slots=True)
class PlacetoSettings:
    """Settings of Placeto. The defaults are the preset `fast`; `paper` is the published form.

    Source of the published values: Addanki et al. 2019, sections 2 to 4 and appendix, and their published code.
    """

    preset: str = choice(("fast", "paper"), "the preset that these settings started from: `fast` or `paper`")
    network: str = choice(
        ("shared_head", "published", "simple_partitioner", "simple_aggregator"),
        "`published`: message passing anew at every step and a softmax of fixed size; `shared_head`: the graph is "
        "embedded once a batch and one head scores each device, for any number of devices; `simple_partitioner` and "
        "`simple_aggregator`: the networks that the paper compares with its own, three poolings or one, without "
        "message passing",
        paper="published",
    )
    message_rounds: int = whole(2, 0, 64, "rounds of message passing in each direction (published: 8)", paper=8)
    start_time_feature: bool = switch(
        True,
        "whether the published networks see when each group starts (published code: yes); with the reward "
        "`terminal`, which evaluates only the end of an episode, they see 0 instead",
    )
    embedding_width: int = whole(
        32, 1, 1024, "width of a group's embedding in `shared_head`; the published network is as wide as its features"
    )
    hidden_width: int = whole(32, 1, 1024, "width of the hidden layers of the shared head")
    traversal: str = choice(
        (
            "topological",
            "reversed",
            "least_urgent_first",
            "random_topological",
            "random",
            "mixed",
            "fixed_random",
        ),
        "order in which an episode visits the groups (published: topological, or one random order for the whole "
        "run): `topological`, `reversed`, `least_urgent_first` (the shortest path to the end first, among those "
        "whose producers are done), `random_topological` and `random`, drawn for each episode, `mixed`, these two "
        "in turn, or `fixed_random`, drawn once",
    )
    traversal_seed: int = whole(0, 0, 2**32 - 1, "seed of the order of the traversal `fixed_random`")
    passes: int = whole(1, 1, 100, "times that an episode places each group (the paper's n; published code: 1)")
    start: str = choice(
        ("best", "fastest_device", "random", "fixed_random", "nowhere"),
        "placement at an episode's start (published: arbitrary; their code's default: `fixed_random`): "
        "`fastest_device`, `random`, drawn for each episode, `fixed_random`, drawn once for each graph, the `best` "
        "found so far, or `nowhere`, where no group has a device yet (only with the network `shared_head` and the "
        "reward `terminal`)",
        paper="fastest_device",
    )
    start_seed: int = whole(0, 0, 2**32 - 1, "seed of the placement of the start `fixed_random`")
    start_tolerance: float = number(
        0.02,
        0.0,
        10.0,
        "with the start `best`: the best end of each batch becomes the next start if its relative gap to the best "
        "found is at most this; the limit falls linearly to 0",
        paper=0.0,
    )
    reward: str = choice(
        ("terminal", "intermediate"),
        "`terminal`: minus the step time at the end, one evaluation an episode; `intermediate`: the step time that "
        "each step saves, one evaluation for each step that moves a group (published: both, `intermediate` by "
        "default)",
        paper="intermediate",
    )
    reward_unit: str = choice(
        ("reference", "second"),
        "unit of the reward: `second` (published), or `reference`, the step time on the fastest single device "
        "without transfers",
        paper="second",
    )
    memory_penalty: float = number(
        100.0,
        0.0,
        1e6,
        "penalty on the step time for missing memory: in seconds per GB with the unit `second` (published: 2), else in "
        "references per memory of the device that lacks it",
        paper=2.0,
    )
    penalised_cap: float = number(
        100.0, 1e-6, 1e6, "largest penalised step time, in reward units (published: 10 seconds)", paper=10.0
    )
    batch_episodes: int = whole(
        16, 1, 4096, "episodes sampled with the same weights (the paper's 4 to 8 workers)", paper=8
    )
    greedy_every_batches: int = whole(
        0,
        0,
        1_000_000,
        "batches from one greedy episode to the next, which takes the most probable devices to show progress and is "
        "not learned from; 0 for none (published: now and then)",
        paper=10,
    )
    epochs: int = whole(
        8,
        1,
        100,
        "updates from each batch; all but the first use the clipped ratio of probabilities (published: 1)",
        paper=1,
    )
    ratio_clip: float = number(
        0.2, 0.01, 10.0, "most change of the ratio of probabilities from 1 in one batch, if `epochs` is above 1"
    )
    learning_rate: float = number(3e-3, 1e-9, 1.0, "learning rate of Adam at the start (published: 1e-3)", paper=1e-3)
    learning_rate_end: float = number(
        3e-4,
        0.0,
        1.0,
        "learning rate of Adam when the budget is spent; falls linearly to this (published: 1e-4)",
        paper=1e-4,
    )
    gradient_norm: float = number(1.25, 1e-6, 1e6, "the gradient's global norm is clipped to this (published: 1.25)")
    sum_over_decisions: bool = switch(
        False,
        "whether the gradient is the sum over the decisions of a batch, which is nearly always clipped "
        "(published), or their mean",
        paper=True,
    )
    entropy_weight: float = number(
        0.02, 0.0, 1e3, "weight of the entropy bonus at the start (published code: 1)", paper=1.0
    )
    entropy_weight_end: float = number(
        0.0,
        0.0,
        1e3,
        "weight of the entropy bonus when the budget is spent; falls linearly to this (published code: to 0, over a "
        "tunable time)",
    )
    exploration: float = number(
        1.0,
        0.0,
        1e3,
        "mean number of groups an episode that go to a uniformly drawn device, by mixing in a uniform choice "
        "(published: 0)",
        paper=0.0,
    )
    return_baseline_episodes: int = whole(
        64,
        1,
        100_000,
        "number of last episodes whose mean return at the same step is the return baseline (published: 10 of each "
        "worker, so 80 of 8 workers)",
        paper=80,
    )
    normalise_advantages: bool = switch(
        True,
        "whether advantages are divided by the deviation of the baseline's returns, with those of the batch, and "
        "clipped at 4 of it (published: no)",
        paper=False,
    )
    list_schedule_weight: float = number(
        1.0,
        0.0,
        1e3,
        "strength of the untrained head's preference for the device with the earliest finish, that of both passes of a "
        "training step (`shared_head`)",
        paper=0.0,
    )
    schedules_weight: float = number(
        0.0,
        0.0,
        1e3,
        "strength of the untrained head's preference for the devices where list schedules put a group (`shared_head`)",
    )
    stay_weight: float = number(
        3.0, 0.0, 1e3, "strength of the untrained head's preference for the group's present device", paper=0.0
    )
    most_reachable_groups: int = whole(
        1024,
        0,
        4096,
        "most groups for which parents and children are all that can be reached; with more, only direct neighbours",
        paper=4096,
    )
    prior: str = learners.prior()
    frozen: bool = learners.frozen()
    torch_device: str = machine.torch_device("auto")
    torch_threads: int = machine.torch_threads()
    checkpoint_seconds: float = machine.checkpoint_seconds(1.0)

    def __post_init__(self) -> None:
        require_allowed(self)
        if self.start == "nowhere" and (self.network, self.reward) != ("shared_head", "terminal"):
            raise refused("start", self.start, "nowhere only with the network shared_head and the reward terminal")


def make_settings(settings: Mapping[str, Json]) -> PlacetoSettings:
    """Make settings from `settings` and, for the rest, the preset that they name, else `fast`. Raises SettingsError.

    With the shared prior, `WITH_THE_SHARED_PRIOR` comes before the preset.
    """
    shared = settings.get("prior") == learners.BEST_TRIVIAL
    given = {**WITH_THE_SHARED_PRIOR, **settings} if shared else settings
    return making.make_settings("placeto", PlacetoSettings, given)
