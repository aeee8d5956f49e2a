"""The effect of each choice in the training of policies: variants with equal evaluations, on unseen graphs.

`python -m experiments learning_choices` writes docs/results/learning_choices.{md,json}; a second call continues, and
`--set` makes it smaller, as with `zero_shot`. Budgets are counts, so the answer depends on no clock. The variants are
compared on graphs of the training split that were left out here; the graphs held out of all trainings stay unseen.
"""

import dataclasses
import json
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine import VERSION
from engine.child.parent import BUDGETED_LIMITS, ReportProgress, Results, run_in_child
from engine.events import Json
from engine.files.whole_files import write_whole
from engine.placeto import device_view
from engine.policies.family_training import train_policy
from engine.policies.proposals import proposals
from engine.policies.settings import make_training_settings
from engine.policies.trained_policy import POLICY_VERSION, TrainedPolicy
from engine.policies.training_problem import TrainingProblem
from engine.problem import PlacementProblem
from engine.settings.fields import refused
from experiments.blinded import blinded, features_as_they_come
from experiments.folders import below_root
from experiments.pages import ReportLine, table_line, write_page, write_rows
from experiments.policies.problems import graphs_of, prepare_families, problem_of
from experiments.policies.scope import ExperimentScope, digest, make_scope, without_variants

COMMAND = "python -m experiments learning_choices"
EVALUATIONS = 4500
"""of every variant, for each training graph and cluster, teacher and reinforcement together"""
COUNTS: dict[str, Json] = {"teacher_evaluations": 3000, "imitation_steps": 2000, "torch_device": "cpu"}
"""of every variant that does not change them"""
AS_THEY_COME = "features as they come"
"""the variant whose group features are not standardised"""
VARIANTS: dict[str, dict[str, Json]] = {
    "as it is": {},
    "imitation alone": {"teacher_evaluations": EVALUATIONS - 1},
    "reinforcement alone": {"imitation_steps": 1},
    "a hasty teacher": {"teacher_evaluations": 50},
    "one update a batch": {"epochs": 1},
    "four updates a batch": {"epochs": 4},
    "more entropy": {"entropy_weight": 0.02},
    "no entropy bonus": {"entropy_weight": 0.0},
    "the best never imitated again": {"imitated_gap": 1e6},
    "one order alone": {"usual_order_share": 1.0},
    "costs never varied": {"varied_share": 0.0},
    "costs always varied": {"varied_share": 1.0},
    "hidden layers of 32": {"hidden_width": 32},
    "no messages": {"message_rounds": 0},
    "six rounds of messages": {"message_rounds": 6},
    "batches of 8": {"batch_episodes": 8},
    "batches of 32": {"batch_episodes": 32},
    "twice the learning rate": {"learning_rate": 2e-3},
    "half the learning rate": {"learning_rate": 5e-4},
    "no earliest finish": {},
    "no phases": {},
    AS_THEY_COME: {},
}
"""changes of the settings' defaults"""
UNSEEN: dict[str, tuple[int, ...]] = {
    "no earliest finish": (device_view.FINISH_LATER, device_view.START_LATER, device_view.FINISH_LATER_SHARE),
    "no phases": (device_view.CLASH, device_view.FEEDBACK_SHARE, device_view.CUT_FEEDBACK),
}
"""the features of a device that the head of a variant does not see"""
ChoiceTimes: TypeAlias = dict[str, list[float]]
"""`greedy` and `best_of`: [graphs on clusters] step times in µs; `evaluations` and `seconds` of the training: [1]"""
ANSWERS = ("greedy", "best_of")
OF_OTHERS = {
    "train_seconds",
    "of_family",
    "test_seeds",
    "unseal",
    "search_seconds",
    "slow_methods",
    "rnn_seconds",
    "yardstick",
}
"""settings of the scope that have no effect here"""


def run(folder: Path, report: ReportLine, settings: Mapping[str, Json] | None = None) -> str:
    """Train every variant with every seed, write `folder`/learning_choices.{md,json}, and return the page."""
    given = without_variants(settings or {})
    for name in OF_OTHERS & given.keys():
        raise refused(name, given[name], "nothing: choices are compared by counts, not seconds")
    scope = make_scope(given)
    variants = _chosen(scope)
    below_root(scope.work).mkdir(parents=True, exist_ok=True)
    prepare_families(scope, (), report)
    turns = [(variant, seed) for seed in range(scope.seeds) for variant in variants]

    def measure(turn: tuple[str, int]) -> None:
        if not _path(scope, *turn).exists():
            order: dict[str, Json] = {"settings": given, "variant": turn[0], "seed": turn[1]}
            run_in_child("experiments.policies.learning_choices:in_child", order, BUDGETED_LIMITS, task=turn[0])
            report(f"{turn[0]}, seed {turn[1]}")

    with ThreadPoolExecutor(scope.processes) as pool:
        list(pool.map(measure, turns))
    found = {turn: json.loads(_path(scope, *turn).read_bytes()) for turn in turns}
    rows = [{"variant": variant, "seed": seed} | found[variant, seed] for variant, seed in turns]
    write_rows(folder, "learning_choices", rows)
    return write_page(folder, "learning_choices", page(found, scope))


def _chosen(scope: ExperimentScope) -> list[str]:
    """The compared variants, in the table's order. Raises SettingsError for an unknown one."""
    asked = scope.variants.split(",") if scope.variants else list(VARIANTS)
    for name in asked:
        if name not in VARIANTS:
            raise refused("variants", name, ", ".join(VARIANTS))
    return [name for name in VARIANTS if name in asked]


def in_child(arguments: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Train one variant and write its step times."""
    order: dict[str, Any] = dict(arguments)
    scope, variant, seed = make_scope(order["settings"]), str(order["variant"]), int(order["seed"])
    problems, unseen = _problems(scope)
    settings = make_training_settings(counted(len(problems), VARIANTS[variant]))
    began = time.process_time()
    with features_as_they_come() if variant == AS_THEY_COME else blinded(UNSEEN.get(variant, ())):
        policy = train_policy(problems, (), settings, seed, lambda _: None, lambda: False)
        found: ChoiceTimes = {"evaluations": [policy.card.evaluations], "seconds": [time.process_time() - began]}
        times = [_step_times_us(policy, each.problem, seed, scope.samples) for each in unseen]
    found |= {"greedy": [float(each[0]) for each in times], "best_of": [float(each.min()) for each in times]}
    write_whole(_path(scope, variant, seed), json.dumps(found).encode())
    return {}, {}


def counted(problems: int, changes: Mapping[str, Json]) -> dict[str, Json]:
    """Settings with `changes` that give a training on this number of problems EVALUATIONS for each."""
    counts = {**COUNTS, **changes}
    settings = make_training_settings(counts)
    left = problems * (EVALUATIONS - settings.teacher_evaluations)
    return counts | {"reinforcement_batches": max(1, left // settings.batch_episodes)}


def _step_times_us(policy: TrainedPolicy, problem: PlacementProblem, seed: int, samples: int) -> NDArray[np.float64]:
    """[1 + samples] the greedy pass first; a placement that does not fit counts double."""
    placements = proposals(policy, problem, np.random.default_rng(seed), samples)
    evaluations = problem.simulator.evaluate(placements)
    return np.where(problem.feasible(evaluations), evaluations.step_time_us, 2 * evaluations.step_time_us)


def _problems(scope: ExperimentScope) -> tuple[list[TrainingProblem], list[TrainingProblem]]:
    """(training problems, test problems): the first graphs of each family's training split, and those after them."""
    wider = dataclasses.replace(scope, train_graphs=scope.train_graphs + scope.graphs)
    learned: list[TrainingProblem] = []
    unseen: list[TrainingProblem] = []
    for family in scope.family_names:
        for index, graph in enumerate(graphs_of(wider, family, "train")):
            part = learned if index < scope.train_graphs else unseen
            part += [problem_of(graph, cluster) for cluster in scope.cluster_names]
    return learned, unseen


def _path(scope: ExperimentScope, variant: str, seed: int) -> Path:
    scope_key = scope.key("families", "clusters", "train_graphs", "graphs", "samples")
    settings = asdict(make_training_settings(COUNTS | VARIANTS[variant]))
    key = digest([scope_key, POLICY_VERSION, EVALUATIONS, list(UNSEEN.get(variant, ())), settings])
    return below_root(scope.work) / f"choice-{variant.replace(' ', '-')}-{seed}-{key}.json"


def page(found: Mapping[tuple[str, int], ChoiceTimes], scope: ExperimentScope) -> str:
    """The page: gaps to the best of all variants, the mean over graphs and clusters, and its range over seeds."""
    best = np.min([each["best_of"] for each in found.values()], axis=0)
    counts = ", ".join(f"{name}={value}" for name, value in COUNTS.items() if name != "torch_device")
    head = f"""# What each choice brings

`{COMMAND}`; Placeto Explorer {VERSION}. {EVALUATIONS:,} evaluations for each graph and cluster, teacher and
reinforcement together; {counts} unless a variant changes them. One policy for
{scope.families.replace(",", ", ")} on {scope.clusters.replace(",", ", ")}, trained on {scope.train_graphs} graphs of
each family and tried on {scope.graphs} others of its training split, seeds 0 to {scope.seeds - 1}. Relative gap of the
step time to the best that any variant found there: the mean over graphs, clusters and seeds, with the range of the
seeds in brackets. A placement that does not fit counts double. Best of {1 + scope.samples}: the greedy
pass and the sampled ones. Evaluations and processor seconds of a training are means over the seeds.

| variant | what differs | greedy | best of {1 + scope.samples} | evaluations | s |
| --- | --- | --- | --- | --- | --- |"""
    lines = []
    for variant in _chosen(scope):
        changes = VARIANTS[variant]
        of_variant = [each for (name, _), each in found.items() if name == variant]
        cells = [
            _cell([float(np.mean(np.array(each[answer]) / best - 1)) for each in of_variant]) for answer in ANSWERS
        ]
        cells += [f"{fmean(each[spent][0] for each in of_variant):,.0f}" for spent in ("evaluations", "seconds")]
        differs = ", ".join(f"{name}={value}" for name, value in changes.items())
        differs += f"{len(UNSEEN[variant])} features of a device are not seen" if variant in UNSEEN else ""
        differs += "a group's features are in their own units" if variant == AS_THEY_COME else ""
        lines.append(table_line([variant, differs, *cells]))
    return "\n".join([head, *lines, ""])


def _cell(by_seed: list[float]) -> str:
    mean, least, greatest = fmean(by_seed), min(by_seed), max(by_seed)
    return f"{mean:.1%}" + (f" ({least:.1%}–{greatest:.1%})" if len(by_seed) > 1 else "")
