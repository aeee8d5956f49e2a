"""One policy a family, zero-shot on its held-out graphs: the gap to a search, beside the other methods.

`python -m experiments zero_shot` writes docs/results/zero_shot.{md,json,png}. Policies stay in a
work folder and measurements in docs/results/kept, so a second call continues. `--set` makes it smaller, such as
`--set seeds=1 --set graphs=4 --set train_seconds=600 --set search_seconds=20`; the page shows its settings. Test graphs
of a further seed (`ptb@1`) are placed by the same policies as those of seed 0.
Source of the figure's form: Addanki et al., NeurIPS 2019, Figure 5.
"""

from collections.abc import Mapping
from pathlib import Path

from engine.events import Json
from experiments.folders import below_root
from experiments.pages import ReportLine
from experiments.policies.held_out import sets_of
from experiments.policies.page import tables
from experiments.policies.problems import prepare_families
from experiments.policies.rows import carry_out, kept_rows, rows_of, written
from experiments.policies.scope import make_scope

COMMAND = "python -m experiments zero_shot"


def run(folder: Path, report: ReportLine, settings: Mapping[str, Json] | None = None) -> str:
    """Train, measure, write `folder`/zero_shot.{md,json,png}, and return the page."""
    given = dict(settings or {})
    scope = make_scope(given)
    with_rnn = scope.rnn_seconds > 0
    kept = kept_rows(folder)
    below_root(scope.work).mkdir(parents=True, exist_ok=True)
    tested = {name: family for family, name in sets_of(scope.family_names, scope.test_seed_numbers)}
    prepare_families(scope, tested, report)
    carry_out(kept, scope, given, {name: [(family,)] for name, family in tested.items()}, report, with_rnn=with_rnn)
    rows = {name: rows_of(kept, scope, name, (family,), with_rnn=with_rnn) for name, family in tested.items()}
    title = "Zero-shot: one policy a family on graphs that it has not seen"
    return written(folder, "zero_shot", tables(COMMAND, title, rows, scope), rows, scope)
