"""The memory that a run of each method takes: the arrays that are alive at once, where they are the most.

A row of the registry has its `MemoryNeed`; a run that may not have so much is refused before it starts. Bytes count
beyond what the process holds when the run begins, loaded libraries included. The factors are ours, from the code and
from measured peaks: `tests/engine/placers/test_memory.py` holds each estimate between the peak and three times of it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.child.own_memory import room_bytes
from engine.errors import LimitError
from engine.number_words import bytes_words
from engine.placers.milp.linear_model import MOST_COLUMNS
from engine.placeto.seeing.device_view import DEVICE_FEATURES

if TYPE_CHECKING:
    from engine.placers.brkga import Brkga
    from engine.placers.pipeline_dp.placer import PipelineDpSettings
    from engine.placers.post import Post
    from engine.placers.random import Random
    from engine.placers.regal.placer import Regal
    from engine.placers.sequence.settings import HierarchicalSettings, RnnSettings
    from engine.placers.spotlight.placer import Spotlight
    from engine.placeto.settings import PlacetoSettings

FLOAT, DOUBLE = 4, 8
ANY_RUN_BYTES = 64 * 1024**2
WEIGHT_BYTES = 48
"""of a weight: itself, its gradient, Adam's two moments, its first draw, and its copies in a saved state"""
BYTES_OF_A_COLUMN = 16_000
"""of a mixed-integer programme: its rows, the solver's copies, its cuts"""
LARGEST_HEAP_BLOCK = 32 * 1024**2
"""larger blocks go back to the system when they are freed"""
PARTS_NUMBERS = 2**24
"""numbers of an attention's hidden layer, or of a part of Placeto's decisions with its gradient, that are kept"""


@dataclass(frozen=True, slots=True)
class ProblemSize:
    """The sizes of a placement problem on which its memory depends."""

    groups: int
    devices: int
    ops: int
    edges: int

    @property
    def choices(self) -> int:
        return self.groups * self.devices


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """What a method's arrays take beyond those of every run."""

    of_arrays: Callable[[Any, ProblemSize], float]
    """bytes for the method's settings and a problem"""
    settings: tuple[str, ...] = ()
    """smaller values of these take less"""

    def bytes_of(self, settings: object, size: ProblemSize) -> int:
        """The most that a run takes at once."""
        return round(_of_every_run(size) + self.of_arrays(settings, size))


def require_memory(
    name: str, need: MemoryNeed, settings: object, size: ProblemSize, instead: str = "another method"
) -> None:
    """Raise LimitError if what `name` calls needs more memory than this process may still have.

    `instead`: what may take less, beside a smaller problem and smaller settings.
    """
    needed, room = need.bytes_of(settings, size), room_bytes()
    if needed > room:
        smaller = f"a smaller {' or '.join(need.settings)}, " if need.settings else ""
        raise LimitError(
            f"it would take about {bytes_words(needed)} of memory",
            where=f"{name} on {size.groups:,} groups and {size.devices:,} devices",
            advice=f"use fewer groups, {smaller}fewer devices or {instead}",
            allowed=f"at most {bytes_words(room)} here",
            field="method",
        )


def _of_every_run(size: ProblemSize) -> float:
    """The simulator's tables, times of ops on devices, and what the baselines draw."""
    return ANY_RUN_BYTES + 500 * (size.ops + size.edges) + 64 * size.ops * size.devices + 100 * size.choices


def _of_group_graph(size: ProblemSize) -> float:
    """The features of groups and devices that learning methods read."""
    return 200 * size.choices + 1000 * size.groups


def _of_random(settings: "Random", size: ProblemSize) -> float:
    return settings.batch * (size.choices + 32 * size.groups)


def _of_brkga(settings: "Brkga | Regal", size: ProblemSize) -> float:
    """Two generations of keys, and both parents and the draws of the children."""
    return 5 * DOUBLE * settings.population * size.choices + _of_group_graph(size)


def _of_regal(settings: "Regal", size: ProblemSize) -> float:
    """The search, and the network's scores, probabilities and gradients for each of 25 distributions."""
    return _of_brkga(settings, size) + 40 * DOUBLE * 25 * size.choices / 8 + 200 * settings.width * size.groups


def _of_post(settings: "Post", size: ProblemSize) -> float:
    """One-hot devices, of the last samples or of the best share of many."""
    counted = max(settings.ppo_samples, settings.best_share * settings.cross_entropy_samples)
    return DOUBLE * (1.5 * counted + 10) * size.choices + _of_group_graph(size)


def _of_spotlight(settings: "Spotlight", size: ProblemSize) -> float:
    width, rows = settings.width, settings.samples * size.groups
    weights = 8 * width * (2 * size.groups + 3 * width)
    attention, scores, states = 5 * size.groups, 15 * size.devices, 40 * width
    return WEIGHT_BYTES * weights + FLOAT * rows * (attention + scores + states) + _of_group_graph(size)


def _of_sequence(settings: "RnnSettings", places: int, features: int, devices: int, sequences: int) -> float:
    """A sequence network over `places`; `sequences` differ in their inputs.

    Each part of the attention leaves holes in the allocator's heap, which glibc does not fill with aligned blocks.
    """
    width, rows = settings.hidden_width, settings.batch_episodes * places
    weights = 4 * width * (features + 3 * width + devices)
    kept = min(rows * places * width, max(PARTS_NUMBERS, rows * width))
    block = FLOAT * rows * width
    holes = 2.2 * block * (rows * places * width / PARTS_NUMBERS if block < LARGEST_HEAP_BLOCK else 0)
    inputs = FLOAT * sequences * places * (2 * features + 30 * width)
    return WEIGHT_BYTES * weights + inputs + holes + FLOAT * (6 * kept + rows * (16 * width + 12 * devices))


def _of_rnn(settings: "RnnSettings", size: ProblemSize) -> float:
    """The groups' adjacency beside the network."""
    features = 2 * size.groups + 100
    adjacency = 5 * FLOAT * size.groups**2
    return _on_cpu(settings) * _of_sequence(settings, size.groups, features, size.devices, 1) + adjacency


def _of_hierarchical(settings: "HierarchicalSettings", size: ProblemSize) -> float:
    """The probability of each super-group for each group, beside the network over these."""
    super_groups = min(size.groups, settings.super_groups or min(256, 20 * size.devices))
    batch, features = settings.batch_episodes, 2 * size.groups + 100
    weights = settings.grouper_width * (features + super_groups)
    joining = 90 * batch * size.groups * super_groups
    sequence = _of_sequence(settings, super_groups, 2 * super_groups + 100, size.devices, batch)
    adjacency = 5 * FLOAT * size.groups**2
    return _on_cpu(settings) * (WEIGHT_BYTES * weights + joining + sequence) + adjacency


def _of_placeto(settings: "PlacetoSettings", size: ProblemSize) -> float:
    steps = settings.passes * size.groups
    rows = settings.batch_episodes * steps
    of_graph = _of_group_graph(size) + 16 * min(size.groups, settings.most_reachable_groups) ** 2
    if settings.network == "shared_head":
        views = 2 * FLOAT * rows * size.devices * DEVICE_FEATURES
        scored = max(min(PARTS_NUMBERS / 2, rows * size.devices * settings.hidden_width), steps * size.devices * 32)
        return of_graph + views + 12 * FLOAT * scored + 200 * rows
    width = 5 + size.devices
    scored = max(min(2**18, rows * size.groups * width), settings.batch_episodes * size.groups * width)
    layers = 40 + 15 * settings.message_rounds if settings.network == "published" else 30
    states = FLOAT * (settings.start_time_feature * rows + 2 * steps) * size.groups
    return of_graph + 20 * size.groups**2 + states + FLOAT * layers * scored


def _of_pipeline_dp(settings: "PipelineDpSettings", size: ProblemSize) -> float:
    """The ideals as bits, the links between them, and their periods for each number of devices."""
    ideals = settings.most_ideals + 3 * size.groups
    return ideals * (300 + size.groups / 4 + 2 * DOUBLE * (1 + size.devices))


def _of_milp(_settings: object, size: ProblemSize) -> float:
    """The columns of the programme, with its rows and what the solver makes of them."""
    columns = min(MOST_COLUMNS, size.choices + size.edges * size.devices**2)
    return BYTES_OF_A_COLUMN * columns


def _on_cpu(settings: "RnnSettings") -> bool:
    """Whether a network's tensors are in the machine's own memory."""
    return settings.torch_device == "cpu"


EVERY_RUN = MemoryNeed(lambda _settings, _size: 0.0)
RANDOM = MemoryNeed(_of_random, ("batch",))
BRKGA = MemoryNeed(_of_brkga, ("population",))
REGAL = MemoryNeed(_of_regal, ("population",))
POST = MemoryNeed(_of_post, ("cross_entropy_samples",))
SPOTLIGHT = MemoryNeed(_of_spotlight, ("samples", "width"))
RNN = MemoryNeed(_of_rnn, ("batch_episodes", "hidden_width"))
HIERARCHICAL = MemoryNeed(_of_hierarchical, ("batch_episodes", "super_groups", "hidden_width"))
PLACETO = MemoryNeed(_of_placeto, ("batch_episodes",))
MILP = MemoryNeed(_of_milp)
PIPELINE_DP = MemoryNeed(_of_pipeline_dp, ("most_ideals",))
