"""CPU only: puts everything on one CPU. Source: the trivial baseline of Addanki et al. 2019, table 1."""

from dataclasses import dataclass

import numpy as np

from engine.errors import InfeasibleError
from engine.events import ShouldStop
from engine.number_words import counted
from engine.problem import PlacementProblem
from engine.problem.trivial import all_on, kept_apart
from engine.simulator.streams.stream import is_contiguous


@dataclass(frozen=True, slots=True)
class CpuOnly:
    """Evaluates each CPU of the cluster once. Raises InfeasibleError where it has none, none can run all ops, or
    its stages would not be contiguous."""

    def place(self, problem: PlacementProblem, rng: np.random.Generator, should_stop: ShouldStop) -> None:
        cpus = [index for index, device in enumerate(problem.cluster.devices) if device.is_cpu]
        if not cpus:
            raise InfeasibleError("the cluster has no CPU", advice="add one, as in 2xK80+cpu")
        if problem.graph.needs_gpu.any():
            ops = counted(int(problem.graph.needs_gpu.sum()), "op")
            raise InfeasibleError(f"no CPU can run {ops} of the graph", advice="choose another method")
        placements = np.stack([all_on(problem.allowed, cpu) for cpu in cpus])[: problem.ledger.remaining]
        placements = kept_apart(problem, placements)
        if is_contiguous(problem.stream):
            placements = placements[np.isfinite(problem.simulator.evaluate(placements).step_time_us)]
            if not len(placements):
                raise InfeasibleError("its stages would not be contiguous", advice="choose another method")
        problem.evaluate_episodes(placements)
