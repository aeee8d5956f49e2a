"""Small results of experiments, kept one by one: a second call continues where the first stopped.

A file has a JSON object a line: the `key`, which says what was measured, the `code` that measured it (code_state.py),
the `day`, and the `result`. Several processes may add to one file. It is committed, so a lost work folder costs
nothing.
"""

import datetime
import fcntl
import json
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

from engine.child.parent import BUDGETED_LIMITS, run_in_child
from engine.events import Json
from experiments.keeping.code_state import code_state
from experiments.pages import ReportLine

Measurement: TypeAlias = Mapping[str, Json]
"""what was measured: graph, cluster, method, seed, budget, settings"""
TakesAlso: TypeAlias = Callable[[Measurement, str], bool]
"""whether a measurement counts that another state of the code has made, by its key and that state"""
RESULT = "result"
"""the text under which a child returns its result"""


def of_any_code(_key: Measurement, _code: str) -> bool:
    """Take every measurement, whatever state of the code has made it."""
    return True


class KeptResults:
    """The results in one file: those of the present state of the code, and those of other states that `also` takes."""

    def __init__(self, path: Path, *, also: TakesAlso | None = None) -> None:
        self._path, self._also = path, also
        self._rows: dict[str, dict[str, Any]] = {}
        """written key → line, the latest one"""
        if path.exists():
            for text in path.read_text().splitlines():
                self._take(json.loads(text))

    def _take(self, line: dict[str, Any]) -> None:
        code = line["code"]
        if code == code_state() or (self._also and self._also(line["key"], code)):
            self._rows[_written(line["key"])] = line

    def __contains__(self, key: Measurement) -> bool:
        return _written(key) in self._rows

    def __getitem__(self, key: Measurement) -> Any:
        """The result of `key`. Raises KeyError if it is not known."""
        return self._rows[_written(key)][RESULT]

    def add(self, key: Measurement, result: Json) -> None:
        """Write a result at once, as a whole line."""
        day = datetime.datetime.now(datetime.UTC).date().isoformat()
        line = {"key": dict(key), "code": code_state(), "day": day, RESULT: result}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(json.dumps(line, sort_keys=True) + "\n")
        self._take(line)

    def made(self, keys: Iterable[Measurement]) -> str:
        """By which states of the code, on which days, the results of `keys` were made, in words for a page."""
        lines = [self._rows[_written(key)] for key in keys]
        states, days = sorted({line["code"] for line in lines}), sorted({line["day"] for line in lines})
        code = f"code {states[0]}" if len(states) == 1 else f"{len(states)} states of the code ({', '.join(states)})"
        return f"{code}, {' to '.join(dict.fromkeys((days[0], days[-1])))}"


def measure_missing(
    kept: KeptResults,
    function: str,
    orders: Mapping[str, Measurement],
    processes: int,
    report: ReportLine,
    beside: Mapping[str, Json] | None = None,
) -> None:
    """Compute each order that `kept` lacks with `function` ("module:name") in a child of its own, and keep its result.

    `orders` maps what a terminal shows to the key, which is the child's arguments too; the child returns
    `({}, {RESULT: ...})`. `beside` are arguments that decide no result, such as folders. `processes` children work at
    a time.
    """
    missing = {shown: dict(key) for shown, key in orders.items() if key not in kept}

    def compute(number: int, shown: str) -> None:
        _, texts = run_in_child(function, missing[shown] | dict(beside or {}), BUDGETED_LIMITS, task=shown)
        kept.add(missing[shown], texts[RESULT])
        report(f"{number} of {len(missing)}: {shown}")

    with ThreadPoolExecutor(processes) as pool:
        for future in [pool.submit(compute, number, shown) for number, shown in enumerate(missing, 1)]:
            future.result()


def _written(key: Measurement) -> str:
    return json.dumps(dict(key), sort_keys=True)
