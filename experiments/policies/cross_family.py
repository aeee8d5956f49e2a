"""Policies trained on two families place the third family's graphs and the zoo's models.

`python -m experiments cross_family` writes docs/results/cross_family.{md,json,png}; a second call continues, and
`--set` makes it smaller, as with `zero_shot`.
"""

from collections.abc import Mapping
from pathlib import Path

from engine.events import Json
from experiments.folders import below_root
from experiments.pages import ReportLine
from experiments.policies.page import tables, tables_by_graph
from experiments.policies.problems import ZOO, prepare_families, prepare_zoo
from experiments.policies.rows import Families, carry_out, kept_rows, rows_of, written
from experiments.policies.scope import ExperimentScope, make_scope, without_variants

COMMAND = "python -m experiments cross_family"
OF_THE_ZOO = """The zoo's models one by one, all clusters. The family nmt is like the zoo's two NMT models, and
cifar10 has convolutional cells like NASNet's; no family is like Inception-V3."""


def run(folder: Path, report: ReportLine, settings: Mapping[str, Json] | None = None) -> str:
    """Train, measure, write `folder`/cross_family.{md,json,png}, and return the page."""
    given = without_variants(settings or {})
    scope = make_scope(given)
    others = {family: others_than(scope, family) for family in scope.family_names}
    kept = kept_rows(folder)
    below_root(scope.work).mkdir(parents=True, exist_ok=True)
    prepare_families(scope, scope.family_names, report)
    prepare_zoo(scope, report)
    tested = {family: [names] for family, names in others.items()}
    carry_out(kept, scope, given, {**tested, ZOO: list(others.values())}, report)
    rows = {
        f"{family}, trained on {_named(names)}": rows_of(kept, scope, family, names) for family, names in others.items()
    }
    zoo = {f"{ZOO}, trained on {_named(names)}": rows_of(kept, scope, ZOO, names) for names in others.values()}
    title = "Across families: policies on the graphs of another family, and on the zoo's models"
    text = f"{tables(COMMAND, title, rows | zoo, scope)}\n{OF_THE_ZOO}\n\n{tables_by_graph(zoo, scope)}"
    return written(folder, "cross_family", text, rows | zoo, scope)


def others_than(scope: ExperimentScope, family: str) -> Families:
    """All families but one."""
    return tuple(name for name in scope.family_names if name != family)


def _named(families: Families) -> str:
    return " and ".join(families)
