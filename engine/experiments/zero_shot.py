"""One policy a family, zero-shot on its held-out graphs: the gap to a search, beside the other methods.

`python -m engine experiments zero_shot` writes docs/results/zero_shot.{md,json,png}. What is trained and measured is
kept in a work folder: a second call goes on. `--set` makes it smaller, such as
`--set seeds=1 --set graphs=4 --set train_seconds=600 --set search_seconds=20`; the page says what it ran with.
Source of the figure's form: Addanki et al., NeurIPS 2019, Figure 5.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from engine.events import Json
from engine.experiments.policy_page import tables
from engine.experiments.policy_rows import make_policies, measure_all, measure_rnns, rows_of, written
from engine.experiments.policy_scope import make_scope

COMMAND = "python -m engine experiments zero_shot"


def run(folder: Path, tell: Callable[[str], None], settings: Mapping[str, Json] | None = None) -> str:
    """Train, measure, write `folder`/zero_shot.{md,json,png}, and return the page."""
    given = dict(settings or {})
    scope = make_scope(given)
    trainings = [((family,), seed) for seed in range(scope.seeds) for family in scope.family_names]
    make_policies(scope, given, trainings, tell)
    with_rnn = scope.rnn_seconds > 0
    if with_rnn:
        measure_rnns(scope, given, tell)
    measure_all(scope, given, {family: [(family,)] for family in scope.family_names}, tell)
    rows = {family: rows_of(scope, family, (family,), with_rnn=with_rnn) for family in scope.family_names}
    title = "Zero-shot: one policy a family on graphs that it has not seen"
    return written(folder, "zero_shot", tables(COMMAND, title, rows, scope), rows, scope)
