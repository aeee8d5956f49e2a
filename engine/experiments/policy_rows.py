"""Trains, measures and writes for an experiment with policies: several children at once, what is there is kept."""

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from engine.events import Json
from engine.experiments.policy_figure import draw_shares
from engine.experiments.policy_making import make_policy
from engine.experiments.policy_measuring import (
    Compared,
    Proposed,
    compared_path,
    measure,
    proposed_path,
    read_compared,
    read_proposed,
)
from engine.experiments.policy_page import PolicyRows
from engine.experiments.policy_problems import held_out_names, prepare_families
from engine.experiments.policy_rnn import measure_rnn, read_rnn
from engine.experiments.policy_scope import Scope

Families = tuple[str, ...]
"""that a policy was trained on"""
Tell = Callable[[str], None]


def make_policies(
    scope: Scope, settings: dict[str, Json], trainings: Sequence[tuple[Families, int]], tell: Tell
) -> None:
    """Train every policy (families, seed) that is not there."""
    Path(scope.work).mkdir(parents=True, exist_ok=True)
    prepare_families(scope, tell)

    def make(training: tuple[Families, int]) -> None:
        make_policy(scope, settings, *training)
        tell(f"trained on {' and '.join(training[0])}, seed {training[1]}")

    with ThreadPoolExecutor(scope.processes) as pool:
        list(pool.map(make, trainings))


def measure_all(scope: Scope, settings: dict[str, Json], policies: Mapping[str, list[Families]], tell: Tell) -> None:
    """Measure on the held-out graphs of each family of `policies` what is not measured yet."""
    graphs = {family: held_out_names(scope, family) for family in policies}
    most = max(len(names) for names in graphs.values())
    turns = [(family, index) for index in range(most) for family in policies if index < len(graphs[family])]

    def look(turn: tuple[str, int]) -> None:
        family, index = turn
        measure(settings, family, index, policies[family])
        tell(f"measured on {graphs[family][index]}")

    with ThreadPoolExecutor(scope.processes) as pool:
        list(pool.map(look, turns))


def measure_rnns(scope: Scope, settings: dict[str, Json], tell: Tell) -> None:
    """Train and measure the RNN of each family and cluster."""

    def measure_one(turn: tuple[str, str]) -> None:
        measure_rnn(scope, settings, *turn)
        tell(f"the RNN on {turn[0]}, {turn[1]}")

    with ThreadPoolExecutor(scope.processes) as pool:
        list(pool.map(measure_one, [(name, cluster) for name in scope.family_names for cluster in scope.cluster_names]))


def rows_of(scope: Scope, family: str, trained_on: Families, *, with_rnn: bool = False) -> PolicyRows:
    """All rows of the held-out graphs of `family` for the policies that were trained on `trained_on`."""
    compared: list[Compared] = []
    proposed: list[Proposed] = []
    for graph in held_out_names(scope, family):
        for cluster in scope.cluster_names:
            row = read_compared(compared_path(scope, graph, cluster))
            if with_rnn:
                row.reached["rnn"] = read_rnn(scope, graph, cluster)
            compared.append(row)
            paths = [proposed_path(scope, graph, cluster, trained_on, seed) for seed in range(scope.seeds)]
            proposed += [read_proposed(path) for path in paths]
    return PolicyRows(compared, proposed)


def written(folder: Path, name: str, text: str, rows: Mapping[str, PolicyRows], scope: Scope) -> str:
    """Write the page, its rows and its picture; returns the page."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = {of: asdict(found) for of, found in rows.items()}
    (folder / f"{name}.json").write_text(json.dumps(kept) + "\n")
    draw_shares(rows, scope, folder / f"{name}.png")
    (folder / f"{name}.md").write_text(text)
    return text
