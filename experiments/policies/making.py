"""Policies for experiments: each trained in a child and kept in the work folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.child.parent import ReportProgress, Results
from engine.events import Json
from engine.files.whole_files import write_whole
from engine.policies.course import train_policy
from engine.policies.settings import PolicyTrainingSettings
from engine.policies.trained_policy import TrainedPolicy
from engine.policies.training_problem import TrainingProblem, TrainingProgress
from experiments.folders import below_root
from experiments.grid import MadeFiles, Measurement, measure_cells
from experiments.keeping.code_state import code_state
from experiments.pages import ReportLine
from experiments.policies.problems import graphs_of, training_problems
from experiments.policies.scope import ExperimentScope, digest, make_scope


def policy_path(scope: ExperimentScope, families: Sequence[str], seed: int) -> Path:
    """The file of the policy of `families` with `seed`, for the present state of the code."""
    known = digest([code_state(), scope.training_key(tuple(families))])
    return below_root(scope.work) / f"{'-'.join(families)}-{seed}-{known}.safetensors"


def make_policies(
    scope: ExperimentScope, settings: dict[str, Json], every: Sequence[tuple[str, ...]], report: ReportLine
) -> None:
    """Train the policies of all `every` families and seeds that have no file. `scope` was made from `settings`."""
    cells: dict[str, Measurement] = {
        f"trained on {' and '.join(families)}, seed {seed}": {"families": list(families), "seed": seed}
        for seed in range(scope.seeds)
        for families in every
    }

    def path_of(key: Measurement) -> Path:
        order: dict[str, Any] = dict(key)
        return policy_path(scope, order["families"], order["seed"])

    function, beside = "experiments.policies.making:in_child", {"settings": settings}
    measure_cells(MadeFiles(path_of), function, cells, scope.processes, report, beside=beside)


def in_child(arguments: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Train one policy and write its file."""
    order: dict[str, Any] = dict(arguments)
    scope, families, seed = make_scope(order["settings"]), tuple(order["families"]), int(order["seed"])
    graphs = [graph for family in families for graph in graphs_of(scope.of(families), family, "train")]
    settings = scope.of(families).training_settings()
    problems = training_problems(graphs, scope.cluster_names)
    train_to_file(problems, settings, seed, policy_path(scope, families, seed))
    return {}, {}


def train_to_file(problems: Sequence[TrainingProblem], settings: PolicyTrainingSettings, seed: int, path: Path) -> None:
    """Train one policy and write its file; its progress and a state to continue from lie beside it meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    checkpoint, log = path.with_suffix(".state"), path.with_suffix(".log")

    def log_progress(progress: TrainingProgress) -> None:
        gap = "" if progress.mean_gap is None else f", {progress.mean_gap:+.1%} of the best known"
        log.write_text(f"{progress.stage} {progress.done:.0%} {progress.seconds:.0f} s{gap}\n")

    state = checkpoint.read_bytes() if checkpoint.exists() else None
    policy = train_policy(
        problems, (), settings, seed, log_progress, lambda: False, state, lambda kept: write_whole(checkpoint, kept)
    )
    write_whole(path, policy.to_bytes())
    checkpoint.unlink(missing_ok=True)


def read_policy(scope: ExperimentScope, families: tuple[str, ...], seed: int) -> TrainedPolicy:
    """A policy that `make_policy` has trained."""
    path = policy_path(scope, families, seed)
    return TrainedPolicy.from_bytes(path.read_bytes(), path.name)
