"""Placeto's settings: one dataclass, a sentence a field, and two presets by name. Free of torch."""

from collections.abc import Mapping
from dataclasses import dataclass

from engine.events import Json
from engine.settings.ranges import refused, require_choices, require_fields, require_ranges, require_switches


@dataclass(frozen=True, slots=True)
class PlacetoSettings:
    """Everything that can be set. The defaults are the preset `fast`; `paper` is the published form.

    Source of the published values: Addanki et al. 2019, sections 3 and 4 and appendix, and their published code.
    """

    preset: str = "fast"
    """the preset that these settings started from: `fast` or `paper`"""
    network: str = "shared_head"
    """`published`: message passing anew at every step and a softmax of fixed size; `shared_head`: the graph is embedded
    once a batch and one head scores each device, whatever their number; `simple_partitioner` and `simple_aggregator`:
    what the paper compares its network with, three poolings or one, without message passing"""
    message_rounds: int = 2
    """rounds of message passing in each direction (published: 8)"""
    start_time_feature: bool = True
    """whether the published networks see when each group starts (published code: yes); with the reward `terminal`,
    which evaluates no state on the way, they see 0 in its place"""
    embedding_width: int = 32
    """width of a group's embedding in `shared_head`; the published network is as wide as its features"""
    hidden_width: int = 32
    """width of the hidden layers of the shared head"""
    traversal: str = "topological"
    """order in which an episode visits the groups (published: topological, or one random order for the whole run):
    `topological`, `reversed`, `least_urgent_first` (the shortest way to the end first, among those whose producers are
    done), `random_topological` and `random`, drawn for each episode, `mixed`, these two in turn, or `fixed_random`,
    drawn once"""
    traversal_seed: int = 0
    """draws the order of the traversal `fixed_random`"""
    passes: int = 1
    """how often an episode places every group (the paper's n; published code: 1)"""
    start: str = "best"
    """placement at an episode's start (published: arbitrary): `fastest_device`, `random`, the `best` found so far, or
    `nowhere`, no group having a device yet (with the network `shared_head` and the reward `terminal` alone)"""
    start_tolerance: float = 0.02
    """with the start `best`: by what share the next start may be worse than the best found, at the start; falls
    linearly to 0. The best end of each batch is the next start while it is within that"""
    reward: str = "terminal"
    """`terminal`: minus the step time at the end, one evaluation an episode; `intermediate`: by how much each step
    shortens the step time, one evaluation for each step that moves a group (published: both, `intermediate` by default)
    """
    reward_unit: str = "reference"
    """what a reward of 1 is: `second` (published), or `reference`, the step time on the fastest single device without
    transfers"""
    memory_penalty: float = 2.0
    """added to the step time for memory that is missing: in seconds per GB with the unit `second` (published: 2), else
    in references per memory of the device that misses it"""
    penalised_cap: float = 10.0
    """the most that a penalised step time counts, in reward units (published: 10 seconds)"""
    batch_episodes: int = 16
    """episodes sampled with the same weights (the paper's 4 to 8 workers)"""
    greedy_every_batches: int = 0
    """in every so many batches one episode takes the most probable devices, to show what was learned, and teaches
    nothing; 0 for never (published: now and then)"""
    epochs: int = 8
    """updates from each batch; from the second on with the clipped ratio of probabilities (published: 1)"""
    ratio_clip: float = 0.2
    """how far the ratio of probabilities may move from 1 in one batch, where `epochs` is above 1"""
    learning_rate: float = 3e-3
    """Adam's, at the start (published: 1e-3)"""
    learning_rate_end: float = 3e-4
    """Adam's, when the budget is spent; falls linearly (published: 1e-4)"""
    gradient_norm: float = 1.25
    """the gradient's global norm is clipped to this (published: 1.25)"""
    sum_over_decisions: bool = False
    """whether the gradient is the sum over the decisions of a batch, which is nearly always clipped (published), or
    their mean"""
    entropy_weight: float = 0.02
    """weight of the entropy bonus at the start (published code: 1)"""
    entropy_weight_end: float = 0.0
    """when the budget is spent; falls linearly (published code: to 0, its length tunable)"""
    exploration: float = 1.0
    """groups an episode that go to a uniformly drawn device, on average: so much of a uniform choice is mixed in
    (published: 0)"""
    return_baseline_episodes: int = 64
    """the return baseline is the mean return at the same step over so many last episodes (published: 10 of each worker,
    so 80 of 8 workers)"""
    normalise_advantages: bool = True
    """whether advantages are divided by the deviation of as many last returns as make the baseline, those of the batch
    among them, and clipped at 4 of it (published: no)"""
    list_schedule_weight: float = 1.0
    """how much the untrained head of `shared_head` prefers the device with the earliest finish"""
    stay_weight: float = 3.0
    """how much the untrained head of `shared_head` prefers the device where the group is"""
    most_reachable_groups: int = 1024
    """up to so many groups parents and children are all that can be reached; beyond, the direct neighbours alone"""
    torch_device: str = "auto"
    """where the network runs: `auto` (CUDA where there is one), `cpu` or `cuda`"""
    torch_threads: int = 1
    """threads of torch on the CPU; the same answer needs the same number"""
    checkpoint_seconds: float = 1.0
    """least time between two states told for going on after an interruption"""

    def __post_init__(self) -> None:
        require_choices(self, _CHOICES)
        require_ranges(self, _WHOLE, _NUMBERS)
        if self.start == "nowhere" and (self.network, self.reward) != ("shared_head", "terminal"):
            raise refused("start", self.start, "nowhere with the network shared_head and the reward terminal alone")
        require_switches(self, _SWITCHES)


_CHOICES: dict[str, tuple[str, ...]] = {
    "preset": ("fast", "paper"),
    "network": ("shared_head", "published", "simple_partitioner", "simple_aggregator"),
    "traversal": (
        "topological",
        "reversed",
        "least_urgent_first",
        "random_topological",
        "random",
        "mixed",
        "fixed_random",
    ),
    "start": ("best", "fastest_device", "random", "nowhere"),
    "reward": ("terminal", "intermediate"),
    "reward_unit": ("reference", "second"),
    "torch_device": ("auto", "cpu", "cuda"),
}
_SWITCHES = ("start_time_feature", "sum_over_decisions", "normalise_advantages")
_WHOLE: dict[str, tuple[int, int]] = {
    "message_rounds": (0, 64),
    "embedding_width": (1, 1024),
    "hidden_width": (1, 1024),
    "traversal_seed": (0, 2**32 - 1),
    "passes": (1, 100),
    "batch_episodes": (1, 4096),
    "greedy_every_batches": (0, 1_000_000),
    "epochs": (1, 100),
    "return_baseline_episodes": (1, 100_000),
    "most_reachable_groups": (0, 4096),
    "torch_threads": (1, 256),
}
_NUMBERS: dict[str, tuple[float, float]] = {
    "start_tolerance": (0.0, 10.0),
    "memory_penalty": (0.0, 1e6),
    "penalised_cap": (1e-6, 1e6),
    "ratio_clip": (0.01, 10.0),
    "learning_rate": (1e-9, 1.0),
    "learning_rate_end": (0.0, 1.0),
    "gradient_norm": (1e-6, 1e6),
    "entropy_weight": (0.0, 1e3),
    "entropy_weight_end": (0.0, 1e3),
    "exploration": (0.0, 1e3),
    "list_schedule_weight": (0.0, 1e3),
    "stay_weight": (0.0, 1e3),
    "checkpoint_seconds": (0.0, 3600.0),
}

PRESETS: dict[str, dict[str, Json]] = {
    "fast": {},
    "paper": {
        "network": "published",
        "message_rounds": 8,
        "start": "fastest_device",
        "start_tolerance": 0.0,
        "reward": "intermediate",
        "reward_unit": "second",
        "batch_episodes": 8,
        "greedy_every_batches": 10,
        "epochs": 1,
        "learning_rate": 1e-3,
        "learning_rate_end": 1e-4,
        "sum_over_decisions": True,
        "entropy_weight": 1.0,
        "entropy_weight_end": 0.0,
        "exploration": 0.0,
        "return_baseline_episodes": 80,
        "normalise_advantages": False,
        "list_schedule_weight": 0.0,
        "stay_weight": 0.0,
        "most_reachable_groups": 4096,
    },
}
"""what each preset changes"""


def make_settings(settings: Mapping[str, Json]) -> PlacetoSettings:
    """`settings` over those of the preset that they name (`fast` if none). Raises SettingsError."""
    require_fields("placeto", PlacetoSettings, settings)
    preset = settings.get("preset", "fast")
    if not isinstance(preset, str) or preset not in PRESETS:
        raise refused("preset", preset, ", ".join(PRESETS))
    values = {"preset": preset} | PRESETS[preset] | dict(settings)
    return PlacetoSettings(**values)  # type: ignore[arg-type]  # the dataclass checks its values itself
