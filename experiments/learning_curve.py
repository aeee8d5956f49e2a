"""Placeto's learning curve on one zoo graph over several seeds, with learning and frozen: table, picture, results.

What learning brings is the difference from the same training with frozen weights, which searches as ever. The policy
itself is judged by its passes from one device. `python -m experiments learning_curve` writes docs/results/; a second
call continues where the first stopped.
"""

import dataclasses
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np

from engine import VERSION, api
from engine.events import Episode, LearnedPolicy
from engine.placers.registry import make_placer
from engine.placeto.kept_policy import KeptPolicy
from engine.placeto.networks.making import make_actor
from engine.placeto.seeing.features import group_graph
from engine.placeto.traversals import visiting_orders
from engine.problem import Budget, PlacementProblem
from experiments.grid import KeptResults, Measurement, measure_cells_here
from experiments.keeping.statistics import mean_over
from experiments.pages import ReportLine, table_of_figures, write_page
from experiments.passes import SAMPLES, ends_from_one_device
from experiments.problems import CLUSTER, GRAPH, prepared_graph, problem_on

COMMAND = "python -m experiments learning_curve"
SEEDS = (0, 1, 2, 3, 4)
EVALUATIONS = 2000
PART = 10
"""the first and the last tenth of the episodes are compared"""
MEASURES = {
    "first tenth": "first_us",
    "last tenth": "last_us",
    "greedy pass": "greedy_us",
    f"{SAMPLES} sampled passes": "sampled_us",
    "answer": "answer_us",
}
"""column → field of a curve"""


@dataclass(frozen=True, slots=True)
class Curve:
    """One training. Times in µs; `step_time_us` and `evaluations` are [episodes]."""

    step_time_us: list[int]
    """of each episode, rounded"""
    evaluations: list[int]
    """made when each episode ended"""
    answer_us: float
    greedy_us: float
    """of the last policy's greedy pass from one device"""
    sampled_us: float
    """mean of its sampled passes from there"""
    processor_seconds: float

    @property
    def first_us(self) -> float:
        """The mean of the first episodes."""
        return fmean(self.step_time_us[: self._part])

    @property
    def last_us(self) -> float:
        """The mean of the last episodes."""
        return fmean(self.step_time_us[-self._part :])

    @property
    def _part(self) -> int:
        return max(1, len(self.step_time_us) // PART)


@dataclass(frozen=True, slots=True)
class Pair:
    """A seed's training and its control."""

    learned: Curve
    frozen: Curve

    @property
    def holds(self) -> bool:
        """Whether learning makes the policy better: its greedy pass from one device, and its last episodes."""
        return self.brought("greedy_us") < 0 and self.brought("last_us") < 0

    def brought(self, name: str) -> float:
        """The difference in µs that learning makes to a field of `MEASURES`, below 0 where it helps."""
        return float(getattr(self.learned, name) - getattr(self.frozen, name))


@dataclass(frozen=True, slots=True)
class Yardsticks:
    """What the curves are compared with, in µs."""

    one_device_us: float
    random_mean_us: float
    random_best_us: float


def run(folder: Path, report: ReportLine) -> str:
    """Train twice a seed, write `folder`/learning_curve.{md,png}, and return the page."""
    kept = KeptResults(folder / "kept" / "learning_curve.jsonl")
    prepared = prepared_graph(report)
    cells = {(seed, frozen): _key(seed, frozen=frozen) for seed in SEEDS for frozen in (False, True)}
    curves = measure_cells_here(
        kept, cells, lambda cell: dataclasses.asdict(trained(prepared, cell[0], frozen=cell[1])), report
    )
    of_random = measure_cells_here(
        kept,
        {"random": _random_key()},
        lambda _: dataclasses.asdict(yardsticks(problem_on(prepared, CLUSTER, EVALUATIONS))),
        report,
    )
    pairs = [Pair(*(Curve(**curves[seed, frozen]) for frozen in (False, True))) for seed in SEEDS]
    sticks = Yardsticks(**of_random["random"])
    _draw(pairs, sticks, folder / "learning_curve.png")
    made = kept.made([_random_key(), *cells.values()])
    return write_page(folder, "learning_curve", page(prepared, pairs, sticks, made))


def _key(seed: int, *, frozen: bool) -> Measurement:
    settings: dict[str, api.Json] = {"frozen": True} if frozen else {}
    return {**_random_key(), "method": "placeto", "settings": settings, "seed": seed}


def _random_key() -> dict[str, api.Json]:
    return {"graph": GRAPH, "cluster": CLUSTER, "method": "random", "evaluations": EVALUATIONS, "seed": SEEDS[0]}


def yardsticks(problem: PlacementProblem) -> Yardsticks:
    """One device, and as many random placements as the `problem` has evaluations."""
    single, random = problem.with_budget(Budget(problem.device_count)), problem.with_budget(problem.ledger.budget)
    for method, on in (("single_device", single), ("random", random)):
        make_placer(method, {}).place(on, np.random.default_rng(SEEDS[0]), lambda: False)
    return Yardsticks(single.ledger.best_time_us, random.ledger.mean_step_time_us, random.ledger.best_time_us)


def trained(prepared: api.PreparedGraph, seed: int, *, frozen: bool) -> Curve:
    """One training with default settings, as a run makes it, and the passes of its last policy from one device."""
    episodes: list[Episode] = []
    policies: list[bytes] = []

    def note(item: api.Emitted) -> None:
        if isinstance(item, LearnedPolicy):
            policies.append(item.policy)
        elif isinstance(item, api.NumberedEvent) and isinstance(item.event, Episode):
            episodes.append(item.event)

    settings: dict[str, api.Json] = {"frozen": frozen, "torch_device": "cpu"}
    cluster = api.parse_cluster(CLUSTER)
    request = api.RunRequest(cluster, "placeto", api.Budget(EVALUATIONS), seed, settings, baselines=())
    began = time.process_time()
    report = api.place(prepared, request, note, lambda: False)
    seconds = time.process_time() - began
    answer_us = report["step_time_us"]
    assert isinstance(answer_us, float)
    passes_us = pass_times_us(problem_on(prepared, CLUSTER), KeptPolicy.from_bytes(policies[-1]), seed)
    return Curve(
        step_time_us=[round(episode.step_time_us) for episode in episodes],
        evaluations=[episode.evaluations for episode in episodes],
        answer_us=answer_us,
        greedy_us=passes_us[0],
        sampled_us=fmean(passes_us[1:]),
        processor_seconds=seconds,
    )


def pass_times_us(problem: PlacementProblem, policy: KeptPolicy, seed: int) -> list[float]:
    """[1 + SAMPLES] step times of the passes of the last weights from one device, producers first; greedy first."""
    graph, rng = group_graph(problem), np.random.default_rng(seed)
    actor = make_actor(policy.settings, graph, rng, policy.weights)
    order = visiting_orders("topological", graph, 1, rng, seed)[0]
    ends = ends_from_one_device(actor, graph, order, seed)
    return [float(step_time_us) for step_time_us in problem.simulator.evaluate(ends).step_time_us]


def page(prepared: api.PreparedGraph, pairs: Sequence[Pair], sticks: Yardsticks, made: str) -> str:
    """The whole page."""
    one = sticks.one_device_us
    mean, best = sticks.random_mean_us / one, sticks.random_best_us / one
    head = ("seed", "weights", *MEASURES, "episodes", "processor s", "holds")
    rows = [
        [
            str(seed),
            label,
            *(f"{getattr(curve, name) / one:.3f}" for name in MEASURES.values()),
            f"{len(curve.step_time_us):,}",
            f"{curve.processor_seconds:.0f}",
            ("yes" if pair.holds else "NO") if curve is pair.learned else "",
        ]
        for seed, pair in zip(SEEDS, pairs, strict=True)
        for label, curve in (("learn", pair.learned), ("frozen", pair.frozen))
    ]
    differences = [
        [column, mean_over([[pair.brought(name) / one] for pair in pairs]).as_percent()]
        for column, name in MEASURES.items()
    ]
    return f"""# Placeto's learning curve, beside the same without learning

`{COMMAND}`; Placeto Explorer {VERSION}; {made}. {GRAPH}: {prepared.graph.op_count} ops,
{prepared.grouping.group_count} groups; {CLUSTER}; Placeto, default preset, {EVALUATIONS:,} evaluations a training.

Step times are simulated from estimated costs, and are shares of one device's ({one / 1e6:.4f} s).
As many random placements have a mean of {mean:.3f} and a best of {best:.3f}.
First and last tenth: means of the training's episodes, each of which starts from the best so far. Passes: by the last
policy, from one device, producers first. Frozen: `frozen=true`, which searches as ever and learns nothing. Holds: with
learning the greedy pass from one device and the last tenth are both better than without.

{chr(10).join(table_of_figures(head, rows))}

What learning brings, in percent of one device's step time: the mean difference over the seeds, with its 95 % interval.

{chr(10).join(table_of_figures(("", "learning − frozen"), differences))}
"""


def _draw(pairs: Sequence[Pair], sticks: Yardsticks, path: Path) -> None:
    import matplotlib as mpl  # imported here, since a server never draws

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9, 5), layout="constrained")
    for seed, pair in zip(SEEDS, pairs, strict=True):
        seconds = np.array(pair.learned.step_time_us) / 1e6
        axes.plot(pair.learned.evaluations, seconds, ".", markersize=2, alpha=0.35, color=f"C{seed}")
        for curve, line, label in ((pair.learned, "-", f"seed {seed}"), (pair.frozen, ":", None)):
            best = np.minimum.accumulate(curve.step_time_us) / 1e6
            axes.plot(curve.evaluations, best, line, color=f"C{seed}", label=label)
    axes.axhline(sticks.one_device_us / 1e6, color="black", linestyle="--", label="one device")
    axes.axhline(sticks.random_best_us / 1e6, color="grey", linestyle="-.", label="random, best")
    title = f"Placeto on {GRAPH}, {CLUSTER}: every episode, best so far (dotted: frozen)"
    axes.set(xlabel="evaluations", ylabel="step time (s)", title=title)
    axes.legend(loc="upper right", fontsize="small")
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
