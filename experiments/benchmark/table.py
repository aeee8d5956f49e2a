"""Every method on one scale: a sample of the corpus on six clusters, at equal evaluations and at equal seconds.

`python -m experiments benchmark` runs each method of the registry, and classes of one's own (`--method FILE.py:CLASS`),
on the problems of the scope, and writes docs/results/benchmark.{md,json} with its plots. Rows are kept in
docs/results/kept/benchmark.jsonl, so a second call continues; rows of another state of the code do not count. Best
known placements and lower bounds stand in benchmark_best.jsonl and benchmark_bounds.jsonl there, which only improve.
"""

from collections.abc import Mapping
from pathlib import Path

import torch

from engine.events import Json
from engine.placers.registry import PLACERS, policy_takers
from experiments.benchmark.collected import EVALUATIONS, SECONDS, Collected
from experiments.benchmark.few_evaluations import marks_within
from experiments.benchmark.measuring import BenchmarkFiles, measure_missing, with_seeds
from experiments.benchmark.own_method import own_method
from experiments.benchmark.page import few_gaps, name_of, page
from experiments.benchmark.plots import draw_few, draw_profiles
from experiments.benchmark.problems import benchmark_problems
from experiments.benchmark.profiles import Points, profile, ratios
from experiments.benchmark.results import results_of
from experiments.benchmark.running import BenchmarkMethod, GivenFile
from experiments.benchmark.sample import sampled_graphs
from experiments.benchmark.scope import make_benchmark_scope
from experiments.benchmark.scores import least_of, strata_of
from experiments.corpus.cached import LIST
from experiments.folders import below_root
from experiments.grid import KeptResults
from experiments.keeping.lower_bounds import KeptBounds
from experiments.keeping.yardstick import Yardstick
from experiments.pages import ReportLine, write_page, write_rows

DRAWN = ("size", "kind")
"""dimensions with a picture of profiles"""


def run(folder: Path, report: ReportLine, settings: Mapping[str, Json] | None = None) -> str:
    """Make the runs that are missing, write the page, its plots and the JSON into `folder`, and return the page."""
    scope = make_benchmark_scope(settings or {})
    own = [BenchmarkMethod(each.name, each) for each in map(own_method, scope.own_places)]
    policies = [GivenFile.read(below_root(scope.policy))] if scope.policy else []
    with_policy = [BenchmarkMethod(name, policy=each) for each in policies for name in policy_takers()]
    every = [*own, *with_policy, *map(BenchmarkMethod, PLACERS)]
    graphs = sampled_graphs(scope.split, folder, LIST, report)[: scope.graphs]
    problems = with_seeds(list(benchmark_problems(graphs, scope)), scope)
    name = name_of(scope.side)
    files = BenchmarkFiles(
        KeptResults(folder / "kept" / f"{name}.jsonl"),
        Yardstick(folder / f"{name}_best.jsonl"),
        KeptBounds(folder / f"{name}_bounds.jsonl"),
    )
    if scope.measure:
        torch.set_num_threads(1)
        named = [*scope.method_names, *(method.name for method in [*own, *with_policy])]
        chosen = [method for method in every if method.name in named]
        measure_missing(problems, chosen, scope, files, report)
    found = Collected(scope, problems, every, files)
    pictures = draw(found, folder)
    write_rows(folder, name, results_of(found))
    return write_page(folder, name, page(found, pictures))


def draw(found: Collected, folder: Path) -> dict[str, str]:
    """Draw what there is to draw; returns the files with their words."""
    name = name_of(found.scope.side)
    labels = {method.name: method.label for method in found.methods}
    pictures = {}
    kind = SECONDS if found.scope.seconds else EVALUATIONS
    for dimension in DRAWN if found.best_us else ():
        file = f"{name}_{dimension}.png"
        draw_profiles(profiles_by(found, kind, dimension), folder / file)
        pictures[file] = f"Share of problems within a factor of the best method, by {dimension}, at equal {kind}"
    if found.scope.evaluations and found.best_us:
        file = f"{name}_few.png"
        means = {
            labels[method]: [None if mean is None else mean.mean for mean in of_method]
            for method, of_method in few_gaps(found).items()
        }
        draw_few(means, marks_within(found.scope.evaluations), folder / file)
        pictures[file] = "Mean gap to the best known after 1 to 100 evaluations, by method"
    return pictures


def profiles_by(found: Collected, kind: str, dimension: str) -> dict[str, dict[str, Points]]:
    """Stratum of the dimension → method, by its label → its profile."""
    values, labels = found.values(kind), {method.name: method.label for method in found.methods}
    least = least_of(values)
    return {
        f"{stratum}, {len(problems)} problems": {
            labels[method]: profile(ratios(of_method, least, problems)) for method, of_method in values.items()
        }
        for stratum, problems in sorted(strata_of(found.best_us)[dimension].items())
    }
