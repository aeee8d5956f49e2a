"""A search of a problem in a child: its best placement is offered to the yardstick, its step time is the result."""

import dataclasses
import time
from pathlib import Path
from typing import Any

import numpy as np

from engine.child.parent import ReportProgress, Results
from engine.errors import SettingsError
from engine.events import Json
from engine.problem import MOST_EVALUATIONS, Budget
from experiments.best_found import ledger_of_run
from experiments.grid import RESULT, Measurement
from experiments.keeping.yardstick import FoundBy, Yardstick, key_of
from experiments.yardstick.problems import NamedProblem
from experiments.yardstick.scope import make_yardstick_scope

WARM_UP = 50
"""evaluations before the search, whose seconds would otherwise go into compiling"""


def order(problem: NamedProblem, key: str, method: str, seed: int, seconds: float) -> Measurement:
    """What is measured: a search of the problem whose present key is `key`."""
    return {"of": dataclasses.asdict(problem), "key": key, "method": method, "seed": seed, "seconds": seconds}


def in_child(arguments: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Search for the seconds of an `order`; `settings` are the scope's, `yardstick` is the file's path."""
    given: dict[str, Any] = dict(arguments)
    named = NamedProblem(**given["of"])
    problem = named.on_cluster(named.prepared(make_yardstick_scope(given["settings"])), time.process_time)
    if key_of(problem) != given["key"]:
        raise SettingsError("its costs have changed meanwhile", where=named.name, advice="call the command again")
    method, seed, seconds = str(given["method"]), int(given["seed"]), float(given["seconds"])
    ledger_of_run(problem, Budget(WARM_UP), method, np.random.default_rng(seed))  # loads the compiled code
    ledger = ledger_of_run(problem, Budget(MOST_EVALUATIONS, seconds), method, np.random.default_rng(seed))
    if ledger is None or ledger.best_placement is None:
        return {}, {RESULT: {"step_time_us": None, "evaluations": 0}}
    found_by = FoundBy(method, seed, seconds)
    Yardstick(Path(given["yardstick"])).offer(problem, ledger.best_placement, found_by, named.name)
    return {}, {RESULT: {"step_time_us": ledger.best_step_time_us, "evaluations": ledger.used}}
