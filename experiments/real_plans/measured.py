"""One measurement: what the devices take, the plans that are tried and chosen, and their steps as they really run."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import api
from engine.clusters.calibration import MeasuredFigure
from engine.plans.collectives import Algorithm
from engine.plans.plan import PlanRules
from engine.plans.report import FORMAT, plan_to_json
from engine.plans.simulated import PlanSimulator
from experiments.measured_streams.calibrated import measured_link
from experiments.measured_streams.running import of_all_ranks
from experiments.measured_streams.towers import LARGE_ROWS, SMALL_ROWS, unequal_blocks
from experiments.real_plans.devices import FACTORS, MICRO_BATCHES, measured_model, measured_passes, slowed_cluster
from experiments.real_plans.tried import Trials, TriedPlan, to_run

ROUNDS, STEPS = 3, 2
SECONDS = 1800.0
RULES = PlanRules(api.pipeline_of("1f1b"), algorithm=Algorithm.RING)
"""as gloo adds up"""
FoundRow = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunPlans:
    """What was measured."""

    link: dict[str, dict[str, Any]]
    """gloo's figures by name"""
    passes_us: list[list[list[float]]]
    """[small and large micro-batch][devices][forward, backward, update]"""
    tried: int
    """plans that were simulated"""
    plans: list[dict[str, Any]]
    """[plans] `stages` and `shares` in words, `replicas`, `simulated_us`"""
    times_us: list[list[list[float]]]
    """[plans][rounds][steps]"""
    losses: list[list[list[float]]]
    """[plans][rounds][steps] of the first process; those of the others are the same numbers"""
    losses_alone: list[float]
    """[steps] of one process"""

    def fastest_us(self) -> NDArray[np.float64]:
        """[plans, rounds] the fastest step of each visit."""
        fastest: NDArray[np.float64] = np.array(self.times_us).min(axis=2)
        return fastest

    def measured_us(self) -> NDArray[np.float64]:
        """[plans] the median of the visits."""
        return np.asarray(np.median(self.fastest_us(), axis=1))

    def simulated_us(self) -> NDArray[np.float64]:
        """[plans]"""
        return np.array([plan["simulated_us"] for plan in self.plans])

    def loss_difference(self) -> NDArray[np.float64]:
        """[plans] the greatest difference of a loss from that of one process."""
        return np.asarray(np.abs(np.array(self.losses) - self.losses_alone).max(axis=(1, 2)))


def measured_plans() -> RunPlans:
    """Measure link and passes, simulate all plans, run those that are chosen."""
    link, passes_us = measured_link(), measured_passes()
    cluster, model = slowed_cluster(link), measured_model(passes_us)
    simulator = PlanSimulator(model, cluster, RULES)
    tried = tried_plans(simulator)
    chosen = to_run(tried)
    report: dict[str, api.Json] = {
        "format": FORMAT,
        "rules": RULES.to_json(),
        "devices": [device.name for device in cluster.devices],
        "plans": [plan_to_json(model, each.simulated) for each in chosen],
    }
    rounds = [_round(report, number) for number in range(ROUNDS)]
    [alone] = of_all_ranks("alone", {"steps": STEPS}, 1, SECONDS)
    return RunPlans(
        link={name: asdict(each) for name, each in link.items()},
        passes_us=passes_us,
        tried=len(tried),
        plans=[_row(each, row) for each, row in zip(chosen, report["plans"], strict=True)],  # type: ignore[arg-type]  # rows
        times_us=[[times_of(visit) for visit in visits] for visits in zip(*rounds, strict=True)],
        losses=[[losses_of(visit) for visit in visits] for visits in zip(*rounds, strict=True)],
        losses_alone=alone,
    )


def tried_plans(simulator: PlanSimulator) -> list[TriedPlan]:
    """The plans with micro-batches of both sizes, the fastest first."""
    samples, layers = SMALL_ROWS * MICRO_BATCHES, len(unequal_blocks())
    found = [
        tried for size in (SMALL_ROWS, LARGE_ROWS) for tried in Trials(simulator, layers, size, samples // size).all()
    ]
    return sorted(found, key=lambda tried: tried.simulated.batch_time_us)


def _round(report: dict[str, api.Json], number: int) -> list[tuple[FoundRow, ...]]:
    """[plans][processes] what one visit of each plan found, in processes of their own."""
    arguments: dict[str, api.Json] = {"report": report, "factors": [*FACTORS], "steps": STEPS, "round": number}
    return list(zip(*of_all_ranks("plans", arguments, len(FACTORS), SECONDS), strict=True))


def times_of(visit: Sequence[FoundRow]) -> list[float]:
    """[steps] in µs, from the first process's begin to the last one's end; `visit` is [processes]."""
    spans = np.array([row["spans"] for row in visit])
    times_us: list[float] = ((spans[..., 1].max(axis=0) - spans[..., 0].min(axis=0)) * 1e6).tolist()
    return times_us


def losses_of(visit: Sequence[FoundRow]) -> list[float]:
    """[steps] which all processes have found."""
    first: list[float] = visit[0]["losses"]
    assert all(row["losses"] == first for row in visit)
    return first


def _row(tried: TriedPlan, plan: FoundRow) -> dict[str, Any]:
    replicas = [
        {name: row[name] for name in ("devices", "micro_batch", "micro_batches", "stages")} for row in plan["replicas"]
    ]
    return {
        "stages": tried.stages,
        "shares": tried.shares,
        "simulated_us": tried.simulated.batch_time_us,
        "replicas": replicas,
    }


def link_of(run: RunPlans) -> dict[str, MeasuredFigure]:
    """The figures of the link."""
    return {name: MeasuredFigure(**figure) for name, figure in run.link.items()}
