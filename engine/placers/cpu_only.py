"""Everything on a CPU. Source: the trivial baseline of Addanki et al. 2019, table 1."""

from dataclasses import dataclass

import numpy as np

from engine.errors import InfeasibleError
from engine.events import EmitFromPlacer, ShouldStop
from engine.placers.episodes import evaluate_as_episodes
from engine.placers.placer import Placement
from engine.placers.single_device import all_on
from engine.problem import Budget, PlacementProblem


@dataclass(frozen=True, slots=True)
class CpuOnly:
    """Evaluates each CPU of the cluster once. Raises InfeasibleError where the cluster has none."""

    def place(
        self,
        problem: PlacementProblem,
        budget: Budget,
        rng: np.random.Generator,
        emit: EmitFromPlacer,
        should_stop: ShouldStop,
    ) -> Placement:
        cpus = [index for index, device in enumerate(problem.cluster.devices) if device.is_cpu]
        if not cpus:
            raise InfeasibleError(
                "the cluster has no CPU", where="cpu_only", allowed="a cluster with a CPU, such as 2xK80+cpu"
            )
        placements = np.stack([all_on(problem, cpu) for cpu in cpus])[: problem.ledger.remaining]
        return evaluate_as_episodes(problem, placements, emit, first_episode=1)
