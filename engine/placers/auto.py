"""Auto, the default method: runs the quick methods first, then searches from their best placements.

Single devices come first, so that there is an answer after one evaluation; then whole loops on devices of their own,
the list schedulers, the human expert and Scotch. Where the budget suffices for all placements, auto evaluates every
one. Else it makes short walks of a local search from the best of these and keeps the better half, until one start is
left, which gets the rest of the budget. The best pass of a trained policy joins the starts if it is ahead of all
others; else the policy costs its evaluations and changes nothing. With a budget of few seconds such a pass is compared
only with the quickest methods; if it is ahead of them, the slower ones are left out: on thousands of ops they can take
half a second.

Where the problem has levels, methods that place groups of one level do so at two of them, and the search moves groups
of all.

In a stream of micro-batches the contiguous splits of Pipeline DP are among the starts; where stages must be contiguous
they and the single devices are the only ones. Where ops must be apart, only methods that keep them so give starts.

On a large cluster methods and search begin on a few devices that are near each other, as if there were no others: more
devices make a search slower, and are never worth less. All methods that give starts have a tenth of the seconds.

Source: this project's own measurements: `python -m experiments auto_check`. Each part names its own source.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from engine.events import Json, ShouldStop
from engine.files.archive import pack, unpack
from engine.placers.exhaustive import Exhaustive
from engine.placers.local_search import LocalSearchPlacer
from engine.placers.placer import ResumablePlacer
from engine.placers.policy_passes import evaluate_passes
from engine.placers.quick_starts import (
    LIST_METHODS,
    evaluate_one_device,
    evaluate_rounds,
    given_start,
    rounds_of,
    start_of,
)
from engine.placers.registry import PLACERS
from engine.placers.whole_loops import evaluate_whole_loops
from engine.placeto.seeing.features import group_graph
from engine.placeto.settings import PlacetoSettings
from engine.policies.trained_policy import TrainedPolicy
from engine.policies.traits import beyond, is_far, traits_of
from engine.policies.using import on_this_machine
from engine.problem import PlacementProblem
from engine.search.enumeration import count_placements
from engine.search.halving import Halving, Start
from engine.search.levels import level_of_methods
from engine.search.local_search import LocalSearchSettings
from engine.search.symmetry import interchangeable_devices
from engine.settings import machine
from engine.settings.fields import require_allowed
from engine.settings.making import make_settings
from engine.simulator.streams.stream import is_contiguous

MOST_OPS_TO_RELAX = 6000
"""in larger graphs the linear programme of m-SCT would take longer than all else"""
LEAST_UNHURRIED_SECONDS = 10.0
"""with less, the second or more that Scotch's process takes to start is better spent on the search"""
QUICKEST = ("m_topo", "heft")
"""the quickest of the methods that give starts"""
FIRST = "halving"
FINE_METHODS = ("pipeline_dp", "human_expert", "scotch", "heft", "m_etf")
"""methods that also give starts at the level with about so many groups, the most useful for its time first"""


@dataclass(frozen=True, slots=True)
class AutoSettings:
    """Settings of auto: none changes its answer."""

    checkpoint_seconds: float = machine.checkpoint_seconds(5.0)

    def __post_init__(self) -> None:
        require_allowed(self, "auto")


class Auto:
    """Evaluates the quick methods' placements, then searches from the best of them."""

    def __init__(self, **settings: Json) -> None:
        """`settings` as in `AutoSettings`. Raises SettingsError."""
        self.settings = make_settings("auto", AutoSettings, settings)
        self._policy: TrainedPolicy | None = None
        self._state: bytes | None = None

    def use_policy(self, policy: TrainedPolicy) -> None:
        """Add the best pass of `policy` to the starts, if it is ahead of all others.

        There are few starts, two with a small budget: a poor pass would displace a better start. A policy whose
        training was far from the problem is left out.
        """
        self._policy = on_this_machine(policy, PlacetoSettings())

    def resume(self, state: bytes) -> None:
        """Load the state of an earlier `PlacerState`: the next `place` continues from there."""
        self._state = state

    def place(self, problem: PlacementProblem, rng: np.random.Generator, should_stop: ShouldStop) -> None:
        starts: list[Start] = []
        if self._state is None:
            stage, state, seed = FIRST, None, int(rng.integers(2**63))
            starts = self._evaluate_quick_starts(problem, rng, seed, should_stop)
            if _few_enough(problem):
                stage = "exhaustive"
        else:
            stage, state, seed = _unpacked(self._state)
        if problem.ledger.spent or should_stop():
            return

        if stage == FIRST:
            halved = problem.in_context(problem.context.with_states(partial(_packed, stage, seed)))
            self._halve(halved, starts, state, np.random.default_rng([seed, 0]), should_stop)
            stage, state = "local_search", None
        search = self._search(stage)
        if state is not None:
            search.resume(state)
        searched = problem.in_context(problem.context.with_states(partial(_packed, stage, seed)))
        search.place(searched, np.random.default_rng([seed, 1]), should_stop)

    def _evaluate_quick_starts(
        self, problem: PlacementProblem, rng: np.random.Generator, seed: int, should_stop: ShouldStop
    ) -> list[Start]:
        """Evaluate single devices, whole loops, the quick methods, the policy's passes; returns starts for a search."""
        evaluate_one_device(problem)
        if not is_contiguous(problem.stream):
            evaluate_whole_loops(problem, should_stop)
        starts = [start_of(problem.ledger), *given_start(problem)]
        proposed = self._best_pass(problem, np.random.default_rng([seed, 2]))
        methods = _methods(problem)
        if proposed is not None and _in_a_hurry(problem):
            starts += evaluate_rounds(problem, rounds_of(problem, QUICKEST), rng, should_stop)
            ahead = _is_ahead(proposed, starts)
            methods = [] if ahead else [method for method in methods if method not in QUICKEST]
        starts += evaluate_rounds(problem, rounds_of(problem, methods, FINE_METHODS), rng, should_stop)
        return [*starts, proposed] if proposed is not None and _is_ahead(proposed, starts) else starts

    def _best_pass(self, problem: PlacementProblem, rng: np.random.Generator) -> Start | None:
        """The best pass of the policy; None without one, if the problem is far from its training or keeps ops apart.

        Its own `rng` leaves the other methods' draws unchanged.
        """
        if self._policy is None or problem.ledger.spent or problem.apart:
            return None
        part = problem.sub_problem(level_of_methods(problem))
        graph = group_graph(part)
        if is_far(beyond(self._policy.card.ranges, traits_of(graph))):
            return None
        evaluate_passes(self._policy, part, rng, graph)
        return start_of(part.ledger)

    def _halve(
        self,
        problem: PlacementProblem,
        starts: list[Start],
        state: bytes | None,
        rng: np.random.Generator,
        should_stop: ShouldStop,
    ) -> None:
        settings = LocalSearchSettings(checkpoint_seconds=self.settings.checkpoint_seconds)
        halving = Halving(problem, starts, settings, rng, should_stop)
        if state is not None:
            halving.restore(state)
        halving.run()

    def _search(self, name: str) -> ResumablePlacer:
        if name == "exhaustive":
            return Exhaustive(checkpoint_seconds=self.settings.checkpoint_seconds)
        return LocalSearchPlacer(checkpoint_seconds=self.settings.checkpoint_seconds, list_starts=False)


def _methods(problem: PlacementProblem) -> list[str]:
    """The methods that give starts, by the size of the graph and the budget's seconds."""
    splits = ["pipeline_dp"] * (problem.stream is not None)
    relaxes = problem.graph.op_count <= MOST_OPS_TO_RELAX
    others = ["human_expert", *LIST_METHODS, *["scotch"] * (not _in_a_hurry(problem)), *["m_sct"] * relaxes]
    methods = splits if is_contiguous(problem.stream) else [*splits, *others]
    return [method for method in methods if PLACERS[method].keeps_apart or not problem.apart]


def _in_a_hurry(problem: PlacementProblem) -> bool:
    seconds = problem.ledger.budget.seconds
    return seconds is not None and seconds < LEAST_UNHURRIED_SECONDS


def _is_ahead(proposed: Start, starts: list[Start]) -> bool:
    return proposed.rank < min(start.rank for start in starts)


def _few_enough(problem: PlacementProblem) -> bool:
    """Whether all placements can be evaluated."""
    most = problem.ledger.remaining
    if is_contiguous(problem.stream):
        return False
    return count_placements(problem.allowed, interchangeable_devices(problem), most + 1) <= most


def _packed(stage: str, seed: int, state: bytes) -> bytes:
    return pack({"state": np.frombuffer(state, np.uint8)}, {"search": stage, "seed": seed})


def _unpacked(blob: bytes) -> tuple[str, bytes, int]:
    arrays, texts = unpack(blob)
    seed = texts["seed"]
    assert isinstance(seed, int)
    return str(texts["search"]), arrays["state"].tobytes(), seed
