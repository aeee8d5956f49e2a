"""The training of one network on many problems, step by step: teacher → imitation → reinforcement. Loads torch.

    teacher ──(every problem is taught)──▶ imitation ──(its steps or its share)──▶ reinforcement ──▶ done

Each stage ends by its count if the settings give one, else by the clock. Problems take turns, in rounds of a random
order; problems drawn at random (`drawn/`) take part beside them where the settings say so. In reinforcement all
advantages are relative to the batch, which is of one graph and cluster; some batches have varied costs, drawn anew each
time. If a batch is far behind the best placement known, the teacher's or a sampled one, that placement is imitated
again, as Post's elite.

Source: DOPPLER (2026) imitates a scheduler before it learns by reinforcement; here a search is imitated.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from statistics import fmean
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from engine.errors import CostError
from engine.events import Json, ShouldStop
from engine.files.tensor_file import pack_tensors, under, unpack_tensors
from engine.placeto.learning.optimiser import Optimiser
from engine.placeto.learning.reinforce import falling
from engine.placeto.learning.saved_states import network_arrays, restore_network
from engine.placeto.networks.choices import torch_device_of
from engine.placeto.networks.shared_head_actor import fresh_network
from engine.placeto.networks.weights import weights_of
from engine.placeto.settings import PlacetoSettings, make_settings
from engine.placeto.torch_threads import torch_threads
from engine.policies.checkpoint import STATE
from engine.policies.drawn.pool import DrawnPool
from engine.policies.flight import Flight
from engine.policies.learner_numbers import LearnerNumbers
from engine.policies.problem_learner import ProblemLearner
from engine.policies.settings import PolicyTrainingSettings
from engine.policies.teacher import taught_placement
from engine.policies.training_problem import TrainingProblem
from engine.policies.traits import Ranges, widened
from engine.problem import MOST_EVALUATIONS, Budget, PlacementProblem

IMITATED_ORDERS = ("topological", "random_topological")
USUAL_ORDER, OTHER_ORDER = "topological", "random_topological"
FEWEST_SAMPLED_FROM = 0.7
"""share of reinforcement after which no more than `sampled_share_end` of the steps are drawn"""
LIST_SCHEDULE_WEIGHT, SCHEDULES_WEIGHT = 0.25, 1.5
"""so an untrained policy follows the list schedules where these agree, and begins about as good as one of them"""


class Learner:
    """One training, from the start or from a saved state (`restore`): call `step` until `done` is 1."""

    of_a_problem: ClassVar[type[ProblemLearner]] = ProblemLearner
    """how it learns from a batch"""

    def __init__(
        self, problems: Sequence[TrainingProblem], settings: PolicyTrainingSettings, seed: int, should_stop: ShouldStop
    ) -> None:
        self.placeto_settings = placeto_settings_of(settings)
        self._settings, self._should_stop = settings, should_stop
        self._rng = np.random.default_rng(seed)
        self._network = fresh_network(self.placeto_settings, self._rng, torch_device_of(settings.torch_device))
        self._optimiser = Optimiser(self._network, settings.learning_rate)
        self._flight = Flight(self._network, self._optimiser, self.placeto_settings)
        self.ranges: Ranges = {}
        """of the traits of all problems so far, but for those with varied costs"""
        self._bound = [self._learner_of(training.problem) for training in problems]
        given = [training.problem for training in problems]
        self._pool = DrawnPool(settings, given, seed, self._learner_of, should_stop)
        self._turns: list[int] = []
        """the problems left in this round, the next one last"""
        self.taught = self.imitation_steps = self.batches = self._evaluations = 0
        self._clock = problems[0].problem.ledger.clock
        self._earlier_seconds, self._began = 0.0, self._clock()
        self._stage_began = 0.0
        """seconds into the training when the present stage began"""
        self.stage = "teacher"

    @property
    def numbers(self) -> LearnerNumbers:
        """How far the training is."""
        return LearnerNumbers(*(getattr(self, name) for name in LearnerNumbers._fields))

    @property
    def stopped(self) -> bool:
        """Whether somebody asked to stop."""
        return self._should_stop()

    @property
    def evaluations(self) -> int:
        """Simulated placements, those of the teacher included."""
        return self._evaluations + self._pool.evaluations

    @property
    def drawn(self) -> int:
        """Problems drawn at random that took part so far."""
        return self._pool.drawn

    @property
    def seconds(self) -> float:
        """The seconds since the training began, earlier calls included."""
        return self._earlier_seconds + self._clock() - self._began

    @property
    def episodes(self) -> int:
        return self.batches * self.placeto_settings.batch_episodes

    @property
    def done(self) -> float:
        """The share of the training that is done, from 0 to 1; the settings give each stage its share."""
        settings = self._settings
        share = {"teacher": settings.teacher_share, "imitation": settings.imitation_share}
        before = {"teacher": 0.0, "imitation": share["teacher"], "reinforcement": sum(share.values())}
        if self.stage == "done":
            return 1.0
        of_stage = share.get(self.stage, 1.0 - sum(share.values()))
        return min(1.0, before[self.stage] + of_stage * self._stage_done)

    @property
    def mean_gap(self) -> float | None:
        """Mean relative gap of each problem's latest batch with its own costs to the best placement known.

        None until half of the problems have had such a batch: with varied costs the best is not known.
        """
        gaps = [bound.gap for bound in self._bound if bound.gap is not None]
        return fmean(gaps) if 2 * len(gaps) >= len(self._bound) else None

    @property
    def _stage_done(self) -> float:
        """The share of the present stage that is done, from 0 to 1."""
        settings = self._settings
        counts = {
            "teacher": (self.taught, len(self._bound)),
            "imitation": (self.imitation_steps, settings.imitation_steps),
            "reinforcement": (self.batches, settings.reinforcement_batches),
        }
        made, wanted = counts[self.stage]
        if wanted:
            return min(1.0, made / wanted)
        end = settings.seconds
        if self.stage == "imitation":
            end = min(end, self._stage_began + settings.imitation_share * settings.seconds)
        return min(1.0, (self.seconds - self._stage_began) / max(1e-9, end - self._stage_began))

    def step(self) -> None:
        """Teach one problem, or learn once on the next one."""
        with torch_threads(self._settings.torch_threads):
            if self.stage == "teacher":
                self._teach()
            elif self.stage == "imitation":
                self._imitate()
            else:
                self._explore()
        if self._stage_done >= 1.0:
            following = {"teacher": "imitation", "imitation": "reinforcement", "reinforcement": "done"}
            self.stage, self._stage_began = following[self.stage], self.seconds
            self._turns = []

    def _teach(self) -> None:
        settings, bound = self._settings, self._bound[self.taught]
        seconds = min(settings.teacher_seconds, settings.teacher_share * settings.seconds / len(self._bound))
        by_count = settings.teacher_evaluations
        budget = Budget(by_count or MOST_EVALUATIONS, None if by_count else max(1e-3, seconds))
        placement, used = taught_placement(bound.problem, budget, self._rng, self._should_stop)
        bound.teach(placement)
        self.taught += 1
        self._evaluations += used + 1

    def _imitate(self) -> None:
        settings = self._settings
        rate = falling(settings.imitation_learning_rate, settings.learning_rate_end, self._stage_done)
        self._next_or_drawn().imitate(IMITATED_ORDERS, rate, self._rng)
        self.imitation_steps += 1

    def _explore(self) -> None:
        settings, progress = self._settings, self._stage_done
        count = settings.graphs_together
        if settings.reinforcement_batches:
            count = min(count, settings.reinforcement_batches - self.batches)
        chosen = [self._chosen() for _ in range(count)]
        sampled_share = falling(1.0, settings.sampled_share_end, progress / FEWEST_SAMPLED_FROM)
        if settings.graphs_together == 1:
            [(bound, order)] = chosen
            self._evaluations += bound.explore(order, progress, self._rng, sampled_share)
        else:
            plans = [bound.plan(order, self._rng, sampled_share) for bound, order in chosen]
            self._evaluations += self._flight.explore([bound for bound, _ in chosen], plans, progress)
        rate = falling(settings.learning_rate, settings.learning_rate_end, progress)
        for bound, order in chosen:
            if bound.gap is not None and bound.gap > settings.imitated_gap:
                bound.imitate((order,), rate, self._rng)
        self.batches += count

    def _chosen(self) -> tuple[ProblemLearner, str]:
        """A problem for a batch of reinforcement, perhaps with varied costs, and the kind of its orders."""
        settings, bound = self._settings, self._next_or_drawn()
        if self._rng.random() < settings.varied_share:
            with suppress(CostError):  # costs near the largest that can be simulated are not varied
                bound = bound.varied(settings.varied_spread, self._rng)
                self._evaluations += 1
        order = USUAL_ORDER if self._rng.random() < settings.usual_order_share else OTHER_ORDER
        return bound, order

    def _learner_of(self, problem: PlacementProblem) -> ProblemLearner:
        learner = self.of_a_problem(problem, self.placeto_settings, self._network, self._optimiser)
        self.ranges = widened(self.ranges, learner.traits())
        return learner

    def _next_or_drawn(self) -> ProblemLearner:
        """A drawn problem as often as the settings say, else the next of the others."""
        is_drawn = self._settings.drawn > 0 and self._rng.random() < self._settings.drawn_share
        return self._pool.take(self._rng) if is_drawn else self._next()

    def _next(self) -> ProblemLearner:
        if not self._turns:
            self._turns = self._rng.permutation(len(self._bound)).tolist()
        return self._bound[self._turns.pop()]

    def weights(self) -> dict[str, NDArray[np.generic]]:
        """A copy of the network's weights."""
        return weights_of(self._network)

    def learned(self) -> dict[str, NDArray[np.generic]]:
        """The weights, and the optimiser's moments once there are some, for `take`."""
        return network_arrays(self._network, self._optimiser)

    def take(self, learned: Mapping[str, NDArray[np.generic]]) -> None:
        """Go on with what another learner, or several in the mean, have `learned`."""
        restore_network(learned, self._network, self._optimiser)

    def state(self, beside: Mapping[str, Json] | None = None) -> bytes:
        """Everything that the next step depends on, except the problems and the settings, as bytes.

        `beside` adds other values under their own names, which `checkpoint.learned_in` reads.
        """
        arrays = self.learned()
        best = {f"best.{index}": bound.best for index, bound in enumerate(self._bound)}
        arrays |= {name: placement for name, placement in best.items() if placement is not None}
        arrays |= {f"drawn.{place}": placement for place, placement in self._pool.arrays().items()}
        texts: dict[str, Json] = {
            "rng": cast(Json, self._rng.bit_generator.state),
            "stage": self.stage,
            "counts": [self.taught, self.imitation_steps, self.batches, self._evaluations],
            "drawn": self._pool.texts(),
            "turns": list(self._turns),
            "best_values": [bound.best_value if bound.best is not None else 0.0 for bound in self._bound],
            "gaps": [bound.gap for bound in self._bound],
            "seconds": [self.seconds, self._stage_began],
            "ranges": {name: list(ends) for name, ends in self.ranges.items()},
        }
        return pack_tensors(arrays, {**(beside or {}), **texts})

    def restore(self, state: bytes) -> None:
        """Continue from `state`."""
        arrays, texts = unpack_tensors(state, STATE)
        self.take(arrays)
        values, gaps = cast(list[float], texts["best_values"]), cast(list[float | None], texts["gaps"])
        for index, bound in enumerate(self._bound):
            if f"best.{index}" in arrays:
                bound.best, bound.best_value = arrays[f"best.{index}"].astype(np.int32), values[index]
                bound.gap = gaps[index]
        self._rng.bit_generator.state = cast(Mapping[str, object], texts["rng"])
        self.stage = cast(str, texts["stage"])
        self.taught, self.imitation_steps, self.batches, self._evaluations = cast(list[int], texts["counts"])
        ranges = cast(dict[str, list[float]], texts["ranges"])
        self.ranges = {name: (least, most) for name, (least, most) in ranges.items()}
        self._pool.restore(under("drawn.", arrays), cast(dict[str, Json], texts["drawn"]))
        self._turns = cast(list[int], texts["turns"])
        self._earlier_seconds, self._stage_began = cast(list[float], texts["seconds"])
        self._began = self._clock()


def placeto_settings_of(settings: PolicyTrainingSettings) -> PlacetoSettings:
    """Placeto's settings for the network in this training, and in a run on one graph that continues from it."""
    return make_settings(
        {
            "embedding_width": settings.embedding_width,
            "hidden_width": settings.hidden_width,
            "message_rounds": settings.message_rounds,
            "torch_device": settings.torch_device,
            "torch_threads": settings.torch_threads,
            "start": "nowhere",
            "stay_weight": 0.0,
            "list_schedule_weight": LIST_SCHEDULE_WEIGHT,
            "schedules_weight": SCHEDULES_WEIGHT,
            "exploration": 0.0,
            "batch_episodes": settings.batch_episodes,
            "epochs": settings.epochs,
            "learning_rate": settings.learning_rate,
            "learning_rate_end": settings.learning_rate_end,
            "entropy_weight": settings.entropy_weight,
            "gradient_norm": settings.gradient_norm,
        }
    )
