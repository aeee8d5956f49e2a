"""Figure 8: the terminal and the intermediate reward over equal episodes on one graph of each family.

Source: Addanki et al., NeurIPS 2019, section 4.3, Figure 8.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.child.parent import ReportProgress, Results
from engine.events import Json
from experiments.best_found import best_one_device_us
from experiments.grid import RESULT, KeptResults, Measurement
from experiments.pages import table_of_figures
from experiments.published.scope import PublishedScope
from experiments.published.trainings import TrainingOrder, counts_of, order_of, resumed

REWARDS = ("intermediate", "terminal")
SLICES = 20
"""of the episodes, each with its mean and deviation"""
FIRST = 0
"""number of the test graph that is trained on"""


def curve_orders(scope: PublishedScope) -> dict[str, Measurement]:
    """The trainings by the words for a terminal."""
    return {
        f"{family}, {reward} reward, seed {seed}": curve_key(scope, family, reward, seed)
        for seed in range(scope.seeds)
        for family in scope.family_names
        for reward in REWARDS
    }


def curve_key(scope: PublishedScope, family: str, reward: str, seed: int) -> Measurement:
    """The key of one training, which is the child's arguments."""
    order = order_of(scope, family, seed, {"reward": reward, "greedy_every_batches": 0})
    return {**order.key(), "episodes": scope.curve_episodes, "checkpoints": SLICES, "train_graphs": 1, "graphs": 1}


def curve_in_child(arguments: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """One training on one graph: means and deviations of the step times at the episodes' ends, slice by slice."""
    from experiments.published.family_training import FamilyTraining  # torch takes seconds to load

    values: dict[str, Any] = dict(arguments)
    order = TrainingOrder(**values)
    problem = order.problems("test")[FIRST][1]
    one_device_us = best_one_device_us(problem)
    training = FamilyTraining([problem], order.placeto(), order.episodes, np.random.default_rng(order.seed))
    kept: dict[str, Any] = {"ends": [], "seconds": 0.0}
    for batch in resumed(training, arguments, kept):
        kept["ends"] += np.round(batch.end_us / one_device_us, 4).tolist()
    slices = np.array_split(np.array(kept["ends"]), order.checkpoints)
    means: list[Json] = [round(float(each.mean()), 4) for each in slices]
    deviations: list[Json] = [round(float(each.std()), 4) for each in slices]
    return {}, {RESULT: {**counts_of(training, kept), "means": means, "deviations": deviations}}


def curves_of(kept: KeptResults, scope: PublishedScope, family: str, reward: str) -> dict[str, NDArray[np.float64]]:
    """[seeds, SLICES] the means and the deviations of one reward's trainings."""
    found = [kept[curve_key(scope, family, reward, seed)] for seed in range(scope.seeds)]
    return {name: np.array([each[name] for each in found]) for name in ("means", "deviations")}


def curves_table(kept: KeptResults, scope: PublishedScope) -> list[str]:
    """The lines of a table: the first and the last quarter, and how much an episode's end scatters in the last."""
    head = ["family, reward", "updates", "evaluations", "first quarter", "last quarter", "deviation there"]
    head += ["deviation of the seeds' means there"]
    rows = []
    for family in scope.family_names:
        for reward in REWARDS:
            found = [kept[curve_key(scope, family, reward, seed)] for seed in range(scope.seeds)]
            curve, quarter = curves_of(kept, scope, family, reward), max(1, SLICES // 4)
            last = curve["means"][:, -quarter:].mean(axis=1)
            rows.append(
                [
                    f"{family}, {reward}",
                    _same([each["updates"] for each in found]),
                    f"{fmean(each['evaluations'] for each in found):,.0f}",
                    f"{curve['means'][:, :quarter].mean():.3f}",
                    f"{last.mean():.3f}",
                    f"{curve['deviations'][:, -quarter:].mean():.3f}",
                    f"{last.std(ddof=1):.3f}" if len(last) > 1 else "",
                ]
            )
    return table_of_figures(head, rows)


def _same(counts: Sequence[int]) -> str:
    """The counts of all seeds: one number where they are equal."""
    return ", ".join(f"{count:,}" for count in dict.fromkeys(counts))


def draw_curves(curves: Mapping[str, Mapping[str, NDArray[np.float64]]], episodes: int, path: Path) -> None:
    """A panel for each family: the mean over the seeds, within one standard deviation of the episodes.

    `curves` by the words of a line, `family, reward`.
    """
    import matplotlib as mpl  # imported here, since a server never draws

    mpl.use("Agg")
    from matplotlib import pyplot

    families = list(dict.fromkeys(name.split(", ")[0] for name in curves))
    figure, axes = pyplot.subplots(
        1, len(families), figsize=(5 * len(families), 4), layout="constrained", squeeze=False
    )
    for panel, family in zip(axes[0], families, strict=True):
        for name, curve in curves.items():
            if name.split(", ")[0] == family:
                middle = (np.arange(curve["means"].shape[1]) + 0.5) * episodes / curve["means"].shape[1]
                mean = curve["means"].mean(axis=0)
                # of all episodes of a slice: within the seeds and between them
                spread = np.sqrt(np.square(curve["deviations"]).mean(axis=0) + curve["means"].var(axis=0))
                panel.plot(middle, mean, label=name.split(", ")[1])
                panel.fill_between(middle, mean - spread, mean + spread, alpha=0.2)
        panel.set(title=family, xlabel="episodes")
        panel.legend()
    axes[0][0].set(ylabel="step time at an episode's end, share of one device")
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
