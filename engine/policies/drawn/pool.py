"""The drawn problems that take part in a training: each is replaced by a fresh one after some batches. Loads torch.

A problem is a drawn network on a drawn cluster, or one of the graphs given on a cluster drawn for it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from engine.events import Json, ShouldStop
from engine.policies.drawn.clusters import drawn_cluster
from engine.policies.drawn.problems import drawn_problem
from engine.policies.drawn.shapes import shapes_without
from engine.policies.problem_learner import ProblemLearner
from engine.policies.settings import PolicyTrainingSettings
from engine.policies.teacher import taught_placement
from engine.prepared import PreparedGraph
from engine.problem import Budget, PlacementProblem
from engine.problem.making import problem_of

NOT_YET = -1
"""number of a place whose first problem has not been drawn"""


class DrawnPool:
    """`settings.drawn` places for drawn problems. Number and seed decide a problem, so that a state is small."""

    def __init__(
        self,
        settings: PolicyTrainingSettings,
        given: Sequence[PlacementProblem],
        seed: int,
        learner_of: Callable[[PlacementProblem], ProblemLearner],
        should_stop: ShouldStop,
    ) -> None:
        self._settings, self._seed, self._learner_of, self._should_stop = settings, seed, learner_of, should_stop
        self._given = list({id(problem.graph): problem for problem in given}.values())
        """one problem of each graph"""
        self.shapes = shapes_without(settings.drawn_without)
        """names of the shapes that are drawn"""
        self._numbers = [NOT_YET] * settings.drawn
        self._uses = [0] * settings.drawn
        self._learners: dict[int, ProblemLearner] = {}
        """place → learner, made when it is first needed"""
        self.drawn = self.evaluations = 0
        """problems drawn, and evaluations of their teacher"""

    def take(self, rng: np.random.Generator) -> ProblemLearner:
        """The learner of one of the problems, which is taught if it is new."""
        place = int(rng.integers(len(self._numbers)))
        if self._numbers[place] == NOT_YET or self._uses[place] >= self._settings.drawn_uses:
            self._numbers[place], self._uses[place] = self.drawn, 0
            self.drawn += 1
            self._learners[place] = self._taught(self._numbers[place])
        self._uses[place] += 1
        if place not in self._learners:
            self._learners[place] = self._drawn(self._numbers[place])
        return self._learners[place]

    def _drawn(self, number: int) -> ProblemLearner:
        rng = np.random.default_rng([self._seed, number])
        share = self._settings.drawn_on_given
        if not share or rng.random() >= share:
            return self._learner_of(drawn_problem(self.shapes, rng).problem)
        given = self._given[int(rng.integers(len(self._given)))]
        prepared = PreparedGraph(given.graph, given.costs, given.grouping)
        return self._learner_of(problem_of(prepared, drawn_cluster(prepared, rng)))

    def _taught(self, number: int) -> ProblemLearner:
        learner, rng = self._drawn(number), np.random.default_rng([self._seed, number, 1])
        budget = Budget(self._settings.drawn_teacher_evaluations)
        placement, used = taught_placement(learner.problem, budget, rng, self._should_stop)
        learner.teach(placement)
        self.evaluations += used + 1
        return learner

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """The best placement known in each place that has one, for `restore`."""
        return {str(place): learner.best for place, learner in self._learners.items() if learner.best is not None}

    def texts(self) -> dict[str, Json]:
        """All else that the next `take` depends on, for `restore`."""
        return {
            "numbers": list[Json](self._numbers),
            "uses": list[Json](self._uses),
            "counts": [self.drawn, self.evaluations],
        }

    def restore(self, arrays: Mapping[str, NDArray[np.generic]], texts: Mapping[str, Json]) -> None:
        """Continue from the state that `arrays` and `texts` gave."""
        self._numbers, self._uses = cast(list[int], texts["numbers"]), cast(list[int], texts["uses"])
        self.drawn, self.evaluations = cast(list[int], texts["counts"])
        self._learners = {}
        for name, best in arrays.items():
            learner = self._drawn(self._numbers[int(name)])
            learner.teach(best.astype(np.int32))
            self._learners[int(name)] = learner
