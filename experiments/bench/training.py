"""Measures Placeto's training and placing on each device of torch: episodes a second, time by part, a greedy pass.

`python -m experiments bench training`
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import numpy as np
import torch

from engine import api
from engine.events import Episode, Json
from engine.placers.registry import make_placer
from engine.placeto.episodes import make_episode_plan
from engine.placeto.learning.reinforce import Reinforce
from engine.placeto.networks.making import make_actor
from engine.placeto.networks.published import PublishedActor
from engine.placeto.networks.shared_head_actor import SharedHeadActor
from engine.placeto.seeing.features import group_graph
from engine.placeto.seeing.start_times import GroupStartTimes
from engine.placeto.settings import make_settings
from engine.placeto.torch_threads import torch_threads
from engine.problem import Budget, PlacementProblem
from engine.simulator import Simulator
from experiments.bench.flights import flight_lines
from experiments.problems import CLUSTER, GRAPH, prepared_graph, problem_on, regrouped
from experiments.replaced import replaced

GROUPS = 100


@dataclass(frozen=True, slots=True)
class Measured:
    """A training to time."""

    preset: str
    reward: str
    start: str
    evaluations: int


RUNS = (
    Measured("fast", "intermediate", "best", 2000),
    Measured("fast", "intermediate", "random", 10_000),
    Measured("fast", "terminal", "best", 1000),
    Measured("paper", "intermediate", "fastest_device", 4000),
)
"""from the best placement few groups move, so few states are new; from random ones half of the groups move"""
PUBLISHED_SECONDS = 20.0
"""an episode of the published code on an Inception graph of 100 groups, 2 devices, intermediate rewards (two cores)"""
WARM_UP_EVALUATIONS = 40
PASS_GROUPS = (128, 400)
PASSES = 5
POLICY_GROUPS = (100, 400)
POLICY_STEPS = 20
"""of imitation, and as many batches of reinforcement"""
PARTS: dict[str, tuple[tuple[type, str], ...]] = {
    "network": ((SharedHeadActor, "sample"), (PublishedActor, "sample"), (Reinforce, "update")),
    "simulator": ((Simulator, "evaluate"), (GroupStartTimes, "of")),
}
"""what a training spends its time on; everything else is called glue"""


@dataclass(slots=True)
class TimeShares:
    """Seconds by part, each without the parts inside it."""

    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))
    _inner: list[float] = field(default_factory=list)

    def timed(self, part: str, function: Callable[..., object]) -> Callable[..., object]:
        """Wrap `function` so that its time counts for `part`."""

        def call(*arguments: object, **named: object) -> object:
            self._inner.append(0.0)
            began = time.perf_counter()
            try:
                return function(*arguments, **named)
            finally:
                took = time.perf_counter() - began
                self.seconds[part] += took - self._inner.pop()
                if self._inner:
                    self._inner[-1] += took

        return call


def run_benchmark() -> str:
    """Train each preset on the zoo's Inception-V3, place it in one pass, train a policy on it; returns the tables."""
    prepared = prepared_graph(lambda _: None)
    small, devices = regrouped(prepared, GROUPS), torch_devices()
    rows = [_row(problem_on(small, CLUSTER), measured, device) for device in devices for measured in RUNS]
    passes = [
        _pass_row(problem_on(regrouped(prepared, groups), CLUSTER), device)
        for device in devices
        for groups in PASS_GROUPS
    ]
    policies = [_policy_row(regrouped(prepared, groups), device) for device in devices for groups in POLICY_GROUPS]
    head = [
        f"{GRAPH}, {prepared.graph.op_count} ops simulated one by one, {small.grouping.group_count} groups, {CLUSTER}; "
        f"simulation, network and learning together, networks on {' and '.join(devices)}.",
        f"The published code itself (repaired) once took {PUBLISHED_SECONDS:g} s an episode with intermediate rewards "
        "on such a graph and machine; it is not run here. Preset `paper` is the published form, in this engine.",
        f"{'preset':8}{'reward':14}{'start':16}{'torch':6}{'episodes':>9}{'seconds':>9}{'episodes/s':>12}"
        f"{'evaluations/s':>15}{'network':>9}{'simulator':>11}{'glue':>6}",
    ]
    foot = ["", f"One greedy pass of an untrained shared head, median of {PASSES}, one thread:"]
    learned = [
        "",
        f"A policy's training: {POLICY_STEPS} steps of imitation, {POLICY_STEPS} batches of reinforcement, one thread:",
    ]
    flights = [line for device in devices for line in ("", *flight_lines(device))]
    return "\n".join([*head, *rows, *foot, *passes, *learned, *policies, *flights])


def torch_devices() -> tuple[str, ...]:
    """What the setting `torch_device` can be on this machine."""
    return ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)


def _row(problem: PlacementProblem, run: Measured, torch_device: str) -> str:
    settings: dict[str, Json] = {
        "preset": run.preset,
        "reward": run.reward,
        "start": run.start,
        "torch_device": torch_device,
    }
    _train(problem.with_budget(Budget(WARM_UP_EVALUATIONS)), settings)  # compiles, or loads what is compiled
    own, shares = problem.with_budget(Budget(run.evaluations)), TimeShares()
    with _watched(shares):
        began = time.perf_counter()
        episodes = _train(own, settings)
        seconds = time.perf_counter() - began
    parts = {part: share / seconds for part, share in shares.seconds.items()}
    return (
        f"{run.preset:8}{run.reward:14}{run.start:16}{torch_device:6}"
        f"{episodes:9}{seconds:9.1f}{episodes / seconds:12.1f}{own.ledger.used / seconds:15.0f}"
        f"{parts['network']:9.0%}{parts['simulator']:11.0%}{1 - sum(parts.values()):6.0%}"
    )


@contextmanager
def _watched(shares: TimeShares) -> Iterator[None]:
    """Within this context the parts' functions count their time for `shares`."""
    with ExitStack() as stack:
        for part, functions in PARTS.items():
            for owner, name in functions:
                stack.enter_context(replaced(owner, name, shares.timed(part, getattr(owner, name))))
        yield


def _train(problem: PlacementProblem, settings: Mapping[str, Json]) -> int:
    """The episodes of one run."""
    emitted: list[object] = []
    rng = np.random.default_rng(0)
    problem = problem.reporting_to(emitted.append)
    make_placer("placeto", settings).place(problem, rng, lambda: False)
    return sum(isinstance(event, Episode) for event in emitted)


def _pass_row(problem: PlacementProblem, torch_device: str) -> str:
    """Time a trained policy's pass over a new graph, from the finished problem to the placement."""
    settings = make_settings({"torch_device": torch_device, "batch_episodes": 1, "start": "nowhere"})
    seconds = []
    with torch_threads(1):
        for _ in range(1 + PASSES):
            rng = np.random.default_rng(0)
            began = time.perf_counter()
            graph = group_graph(problem)
            policy = make_actor(settings, graph, rng)
            plan = make_episode_plan(settings, graph, np.zeros(0, np.int32), True, rng)
            policy.sample(plan, lambda: None)
            seconds.append(time.perf_counter() - began)
    return f"{problem.group_count:5} groups, {torch_device}: {float(np.median(seconds[1:])):.3f} s"


def _policy_row(graph: api.PreparedGraph, torch_device: str) -> str:
    """Time a policy's training on one graph, by a count of steps, after a short one that warms up."""
    seconds = 0.0
    for steps in (1, POLICY_STEPS):
        settings: dict[str, Json] = {
            "teacher_evaluations": 1,
            "imitation_steps": steps,
            "reinforcement_batches": steps,
            "torch_device": torch_device,
        }
        request = api.TrainRequest((graph,), (), (api.parse_cluster(CLUSTER),), "timed", settings=settings)
        began = time.perf_counter()
        api.train(request, lambda _: None, lambda: False)
        seconds = time.perf_counter() - began
    return f"{graph.grouping.group_count:5} groups, {torch_device}: {seconds:.1f} s"
