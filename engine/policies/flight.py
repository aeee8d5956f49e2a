"""One update from the episodes of several graphs. Loads torch.

    all graphs ──▶ one embedding ──▶ episodes ──▶ simulated in threads, graph by graph ──▶ one update

On the CPU each graph's episodes are decided by compiled code, graphs side by side in threads: there a step in lockstep
costs more than it saves. On another device they are decided in lockstep, and a graph is simulated as soon as its
episodes have ended, while the others go on. An update is the mean over the graphs of what each alone would learn.
"""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import torch
from numpy.typing import NDArray

from engine.placeto.episodes import EpisodePlan
from engine.placeto.learning.optimiser import Optimiser
from engine.placeto.learning.reinforce import BatchLoss, falling
from engine.placeto.networks.lockstep import parts_of, project_together, sample_together
from engine.placeto.networks.shared_head import SharedHead
from engine.placeto.networks.shared_head_actor import SampledEpisodes, leaves_of, pass_on
from engine.placeto.settings import PlacetoSettings
from engine.policies.problem_learner import ProblemLearner, advantages_of

EndedGraph = tuple[SampledEpisodes, NDArray[np.float64]]
"""a graph's episodes, and ρ' of their ends"""


class Flight:
    """Graphs whose episodes are in flight at the same time; they share one network and its optimiser."""

    def __init__(self, network: SharedHead, optimiser: Optimiser, settings: PlacetoSettings) -> None:
        self._network, self._optimiser, self._settings = network, optimiser, settings

    def explore(self, learners: Sequence[ProblemLearner], plans: Sequence[EpisodePlan], progress: float) -> int:
        """Learn from a batch of each learner by reinforcement, by its plan; returns the evaluations."""
        on_cpu = learners[0].actor.torch_device.type == "cpu"
        with ThreadPoolExecutor(self._settings.torch_threads) as threads:
            ended = (self._side_by_side if on_cpu else self._in_lockstep)(learners, plans, threads)
        for learner, (episodes, values) in zip(learners, ended, strict=True):
            learner.note(episodes.ends(), values)
        self._update(learners, ended, progress)
        return sum(plan.batch for plan in plans)

    def _side_by_side(
        self, learners: Sequence[ProblemLearner], plans: Sequence[EpisodePlan], threads: ThreadPoolExecutor
    ) -> list[EndedGraph]:
        actors = [learner.actor for learner in learners]
        with torch.no_grad():
            heads = [self._network.arrays(part) for part in parts_of(project_together(self._network, actors), actors)]

        def decide(number: int) -> EndedGraph:
            episodes = actors[number].sample_by(heads[number], plans[number], _never)
            return episodes, learners[number].values(episodes.ends())

        return list(threads.map(decide, range(len(learners))))

    def _in_lockstep(
        self, learners: Sequence[ProblemLearner], plans: Sequence[EpisodePlan], threads: ThreadPoolExecutor
    ) -> list[EndedGraph]:
        found: dict[int, tuple[SampledEpisodes, Future[NDArray[np.float64]]]] = {}

        def simulate(number: int, episodes: SampledEpisodes) -> None:
            found[number] = episodes, threads.submit(learners[number].values, episodes.ends())

        actors, count = [learner.actor for learner in learners], self._settings.torch_threads
        sample_together(self._network, actors, plans, _never, threads, count, simulate)
        return [(episodes, values.result()) for episodes, values in (found[number] for number in range(len(plans)))]

    def _update(self, learners: Sequence[ProblemLearner], ended: Sequence[EndedGraph], progress: float) -> None:
        settings, actors = self._settings, [learner.actor for learner in learners]
        rate = falling(settings.learning_rate, settings.learning_rate_end, progress)
        entropy_weight = falling(settings.entropy_weight, settings.entropy_weight_end, progress)
        losses = [
            BatchLoss(each, advantages_of(each, values), entropy_weight, settings, actors[0].torch_device)
            for each, values in ended
        ]
        for _ in range(settings.epochs):
            self._optimiser.begin()
            parts = parts_of(project_together(self._network, actors), actors)
            leaves = [leaves_of(part) for part in parts]
            for actor, own, loss, (episodes, _) in zip(actors, leaves, losses, ended, strict=True):
                for part in actor.score_by(own, episodes, _never, drawn_alone=True):
                    (loss.loss(part) / len(actors)).backward()  # type: ignore[no-untyped-call]  # torch's own
                loss.close_epoch()
            pass_on(parts, leaves)
            self._optimiser.step(rate, settings.gradient_norm)
        for actor in actors:
            actor.forget()


def _never() -> None:
    """Do nothing: a batch of this training is never interrupted."""
