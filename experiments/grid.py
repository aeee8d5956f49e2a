"""The grid of an experiment: cells with keys, measured in children, kept one by one; a second call continues.

One file an experiment says its cells and its page. A cell is what a terminal shows of a measurement; its key says all
that its result depends on, besides the code: graph, cluster, method, settings, seed, budget. Results are lines of a
file that is committed, so a lost work folder costs nothing: a JSON object with the `key`, the `code` that measured it
(code_state.py), the `day`, and the `result`. Several processes may add to one file. Beside a file NAME.jsonl may lie
NAME.jsonl.gz with earlier lines: `gzip -nc NAME.jsonl >> NAME.jsonl.gz && rm NAME.jsonl` where it has become large.
"""

import datetime
import fcntl
import gzip
import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from engine.child.parent import BUDGETED_LIMITS, run_in_child
from engine.comparing.grid import CellKey, GoOn, Kept, fill, written
from engine.events import Json
from experiments.keeping.code_state import code_state
from experiments.pages import ReportLine, write_page, write_rows

Measurement: TypeAlias = CellKey
"""the key of a cell: what was measured"""
TakesAlso: TypeAlias = Callable[[Measurement, str], bool]
"""whether a measurement counts that another state of the code has made, by its key and that state"""
RESULT = "result"
"""the text under which a child returns its result"""
KEYS = "keys"
"""the argument of a child that measures several cells, and returns a list of their results"""
Cell = TypeVar("Cell", bound=Hashable)
MoreArguments: TypeAlias = Mapping[str, Json] | Callable[[Cell], Mapping[str, Json]]
"""arguments of a child that decide no result, such as folders"""


def of_any_code(_key: Measurement, _code: str) -> bool:
    """Take every measurement, whatever state of the code has made it."""
    return True


class KeptResults:
    """The results in one file: those of the present state of the code, and those of other states that `also` takes."""

    def __init__(self, path: Path, *, also: TakesAlso | None = None) -> None:
        self._path, self._also = path, also
        self._rows: dict[str, dict[str, Any]] = {}
        """written key → line, the latest one"""
        for text in _lines(path):
            self._take(json.loads(text))

    def _take(self, line: dict[str, Any]) -> None:
        code = line["code"]
        if code == code_state() or (self._also and self._also(line["key"], code)):
            self._rows[written(line["key"])] = line

    def __contains__(self, key: Measurement) -> bool:
        return written(key) in self._rows

    def __getitem__(self, key: Measurement) -> Any:
        """The result of `key`. Raises KeyError if it is not known."""
        return self._rows[written(key)][RESULT]

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
        lines = [self._rows[written(key)] for key in keys]
        states, days = sorted({line["code"] for line in lines}), sorted({line["day"] for line in lines})
        code = f"code {states[0]}" if len(states) == 1 else f"{len(states)} states of the code ({', '.join(states)})"
        return f"{code}, {' to '.join(dict.fromkeys((days[0], days[-1])))}"


def _lines(path: Path) -> Iterator[str]:
    """The lines of a file of results: those of the compressed one first, which are older."""
    packed = path.with_name(f"{path.name}.gz")
    if packed.exists():
        yield from gzip.decompress(packed.read_bytes()).decode().splitlines()
    if path.exists():
        yield from path.read_text().splitlines()


def write_known(
    folder: Path,
    name: str,
    kept: KeptResults,
    every: Iterable[Measurement],
    page: Callable[[list[dict[str, Any]], str], str],
) -> str:
    """Write `folder`/name.{md,json} of what is known so far of `every` cell; returns the page.

    `page` makes it of the rows, keys and results together, and of the words by which state of the code they were made.
    """
    keys = [key for key in every if key in kept]
    rows = [dict(key) | kept[key] for key in keys]
    write_rows(folder, name, rows, indent=1)
    return write_page(folder, name, page(rows, kept.made(keys)))


class MadeFiles:
    """Results that are files, too large to be kept in lines: a child writes each where `path_of` says."""

    def __init__(self, path_of: Callable[[Measurement], Path]) -> None:
        self._path_of = path_of

    def __contains__(self, key: Measurement) -> bool:
        return self._path_of(key).exists()

    def __getitem__(self, key: Measurement) -> Path:
        return self._path_of(key)

    def add(self, _key: Measurement, _result: Any) -> None:
        """The child has written it."""


def measure_cells(
    kept: Kept[Any],
    function: str,
    cells: Mapping[Cell, Measurement],
    processes: int,
    report: ReportLine,
    *,
    beside: MoreArguments[Cell] | None = None,
    together: Callable[[Cell], Hashable] | None = None,
) -> dict[Cell, Any]:
    """The results of all cells; `function` ("module:name") measures each that `kept` lacks, in a child of its own.

    The key is the child's arguments; the child returns `({}, {RESULT: ...})`. Cells for which `together` says the same
    share a child, which gets the list `KEYS` and returns a list. `processes` children work at a time.
    """
    missing = sum(key not in kept for key in cells.values())
    done = iter(range(1, missing + 1))

    def measure(share: Sequence[Cell], go_on: GoOn) -> Iterator[Any]:
        keys: list[Json] = [dict(cells[cell]) for cell in share]
        arguments: dict[str, Json] = {KEYS: keys} if together else dict(cells[share[0]])
        more = beside(share[0]) if callable(beside) else beside or {}
        task = str(share[0] if together is None else together(share[0]))
        _, texts = run_in_child(
            function, arguments | dict(more), BUDGETED_LIMITS, task=task, report_progress=lambda *_: go_on()
        )
        found: Any = texts.get(RESULT)
        for cell, result in zip(share, found if together else [found], strict=True):
            yield result
            report(f"{next(done)} of {missing}: {cell}")

    return fill(cells, kept, measure, processes, together=together)


def measure_cells_here(
    kept: Kept[Any], cells: Mapping[Cell, Measurement], measure: Callable[[Cell], Json], report: ReportLine
) -> dict[Cell, Any]:
    """The same without children: `measure` computes what `kept` lacks, one cell after the other, in this process."""
    found: dict[Cell, Any] = {}
    for cell, key in cells.items():
        if key not in kept:
            report(str(cell))
            kept.add(key, measure(cell))
        found[cell] = kept[key]
    return found
