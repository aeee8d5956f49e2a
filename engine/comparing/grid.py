"""A grid of cells, each measured once: what is missing is measured, several at a time, and a second call continues.

A cell is a graph on a cluster, a method with its settings, a seed and a budget, or whatever else an experiment varies.
Its key says all that its result depends on. `compare` and the experiments keep results in files of their own forms.
"""

import json
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Protocol, TypeAlias, TypeVar

from engine.errors import ChildError, LimitError, PlacetoError
from engine.events import Json

CellKey: TypeAlias = Mapping[str, Json]
"""what a result depends on: graph, cluster, method, settings, seed, budget"""
GoOn: TypeAlias = Callable[[], None]
"""raises once another cell has failed, so that no child works on in vain"""
Cell = TypeVar("Cell", bound=Hashable)
Result = TypeVar("Result")


class Kept(Protocol[Result]):
    """The results that earlier calls have kept, by key."""

    def __contains__(self, key: CellKey) -> bool: ...

    def __getitem__(self, key: CellKey) -> Result: ...

    def add(self, key: CellKey, result: Result) -> None:
        """Keep a result at once, whole or not at all. Several threads may call it."""


class EndingError(Exception):
    """Another cell of the grid has failed."""


def written(key: CellKey) -> str:
    """The text of a key: the same for the same fields, in whatever order."""
    return json.dumps(dict(key), sort_keys=True)


def fill(
    cells: Mapping[Cell, CellKey],
    kept: Kept[Result],
    measure: Callable[[Sequence[Cell], GoOn], Iterable[Result]],
    processes: int,
    *,
    together: Callable[[Cell], Hashable] | None = None,
    instead: Callable[[Cell, PlacetoError], Result] | None = None,
) -> dict[Cell, Result]:
    """The results of all cells, in their order; `measure` makes those that `kept` lacks, and each is kept at once.

    `processes` calls of `measure` work at a time, each on one cell, or on all those for which `together` says the
    same. A cell whose child ran out of memory or time gets a result by `instead`, which is not kept, so the next call
    tries it again. Without `instead`, and for any other error, what has not begun is left and the error is raised.
    """
    found = {cell: kept[key] for cell, key in cells.items() if key in kept}
    ends = threading.Event()

    def go_on() -> None:
        if ends.is_set():
            raise EndingError

    def carry_out(share: Sequence[Cell]) -> dict[Cell, Result]:
        done: dict[Cell, Result] = {}
        try:
            for cell, result in zip(share, measure(share, go_on), strict=True):
                kept.add(cells[cell], result)
                done[cell] = result
        except (ChildError, LimitError) as error:
            if instead is None:
                raise
            done |= {cell: instead(cell, error) for cell in share[len(done) :]}
        return done

    with ThreadPoolExecutor(processes) as pool:
        shares = _shares([cell for cell in cells if cell not in found], together)
        futures = [pool.submit(carry_out, share) for share in shares]
        try:
            for future in as_completed(futures):
                found |= future.result()
        except BaseException:
            ends.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return {cell: found[cell] for cell in cells}


def _shares(cells: Sequence[Cell], together: Callable[[Cell], Hashable] | None) -> list[list[Cell]]:
    """The cells by call of `measure`, in their order."""
    shares: dict[Hashable, list[Cell]] = {}
    for cell in cells:
        shares.setdefault(together(cell) if together else cell, []).append(cell)
    return list(shares.values())
